// What the pages need of Jupyter and of the editor.
export {KernelManager, ServerConnection} from "@jupyterlab/services";
export {EditorView, basicSetup} from "codemirror";
export {keymap} from "@codemirror/view";
export {Prec} from "@codemirror/state";
export {syntaxHighlighting} from "@codemirror/language";
export {python} from "@codemirror/lang-python";
export {tagHighlighter, tags} from "@lezer/highlight";
