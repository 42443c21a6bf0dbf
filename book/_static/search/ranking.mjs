// The order of the answers of the search. Names of places (people, methods, printed tables, terms, figures), titles of
// sections and names of the library come first when they hold all words of the question; then pages by the words they
// share with it, rare words and words of titles before common ones, short pages before long ones.
(() => {
  "use strict";
  const most = { answers: 60, ofPage: 4 };
  const lengthWeight = 0.6; // of the length of a page, as in BM25 with a term counted once
  const title = 2.5; // what a word of a title is worth, of the text 1
  const asking = new Set("who what which where when why how does do did can could should i me my we our you your use".split(" "));
  const stemmer = new Stemmer();
  const stem = (word) => stemmer.stemWord(word);
  const split = (text) => splitQuery(text.toLowerCase());
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, ""); // accents may be left out
  const asArray = (found) => (found === undefined ? [] : Array.isArray(found) ? found : [found]);
  let known = null;

  // Lengths of pages and places with their words, once.
  function prepare(index) {
    const lengths = index.docnames.map(() => 0);
    for (const files of Object.values(index.terms)) for (const file of asArray(files)) lengths[file] += 1;
    const mean = lengths.reduce((sum, one) => sum + one, 0) / lengths.length;
    const places = index.places.map(([label, file, id, more, weight]) => {
      return { label, file, id, weight, words: split(plain(label)), more: split(plain(more)) };
    });
    for (const [text, found] of Object.entries(index.alltitles)) {
      for (const [file, id] of found) places.push({ label: text, file, id: id || "", words: split(plain(text)), more: [], weight: 1, heading: true });
    }
    for (const place of places) place.stems = [...place.words, ...place.more].map(stem);
    known = { lengths, mean, places };
  }

  // How well a place fits: nothing unless it has every word; otherwise the share of its label that was asked for.
  function fit(place, words) {
    let own = 0;
    for (const word of words) {
      const hit = (one) => word.length > 2 && one.startsWith(word);
      if (place.words.includes(word) || place.words.some((one) => stem(one) === stem(word))) own += 1;
      else if (place.words.some(hit)) own += 0.8;
      else if (!place.more.includes(word) && !place.more.some(hit) && !place.stems.includes(stem(word))) return 0;
    }
    return (place.weight * (1 + own)) / (1 + place.words.length);
  }

  // Pages by the words that they share with the question.
  function pages(index, words) {
    const scores = new Map();
    const count = index.docnames.length;
    for (const word of words.map(stem)) {
      const of = (terms) =>
        word in terms || word.length < 4
          ? asArray(terms[word])
          : [...new Set(Object.keys(terms).filter((term) => term.startsWith(word)).flatMap((term) => asArray(terms[term])))];
      const inTitle = new Set(of(index.titleterms));
      const files = new Set([...of(index.terms), ...inTitle]);
      const rare = Math.log(1 + (count - files.size + 0.5) / (files.size + 0.5));
      for (const file of files) {
        const length = 1 - lengthWeight + (lengthWeight * known.lengths[file]) / known.mean;
        const one = scores.get(file) || { sum: 0, hits: 0 };
        one.sum += rare * (inTitle.has(file) ? title : 2 / (1 + length));
        one.hits += 1;
        scores.set(file, one);
      }
    }
    const best = Math.max(...[...scores.values()].map((one) => one.sum), 1e-9);
    return [...scores].map(([file, one]) => [file, (one.sum / best) * (one.hits / words.length) ** 2]);
  }

  Search._performSearch = (query, searchTerms, excludedTerms, highlightTerms, objectTerms) => {
    const index = Search._index;
    if (!known) prepare(index);
    document.getElementById("search-progress")?.replaceChildren();
    const asked = split(query);
    const telling = asked.filter((word) => !stopwords.includes(word) && !asking.has(word));
    const words = telling.length ? telling : asked;
    if (!words.length) return [];

    const results = [];
    const add = (file, label, id, description, score) =>
      results.push([index.docnames[file], label, id ? `#${id}` : "", description, score, index.filenames[file]]);
    const byPage = new Map(pages(index, words));
    for (const place of known.places) {
      const fits = fit(place, words.map(plain));
      if (!fits) continue;
      const name = index.titles[place.file];
      const whole = place.heading && place.label === name;
      // First what is called so, then what stands on a page that is about the question.
      const called = plain(place.label).toLowerCase().includes(plain(query).toLowerCase().trim()) ? 0.3 : 0;
      const about = 0.5 * (byPage.get(place.file) || 0);
      add(place.file, place.label, place.id, whole ? null : name, place.weight + fits + called + about);
    }
    for (const word of objectTerms) {
      for (const [page, name, id, description, score, file] of Search.performObjectSearch(word, objectTerms)) {
        results.push([page, name, id, description, score > 15 ? 2.4 : 1.2, file]);
      }
    }
    byPage.forEach((score, file) => add(file, index.titles[file], "", null, score));

    // The best answer for every address, few of one page; the theme shows the last one first.
    results.sort((a, b) => b[4] - a[4] || a[1].localeCompare(b[1]));
    const seen = new Set();
    const perPage = new Map();
    const kept = results.filter(([page, , id]) => {
      const times = perPage.get(page) || 0;
      if (seen.has(page + id) || times >= most.ofPage || seen.size >= most.answers) return false;
      seen.add(page + id);
      perPage.set(page, times + 1);
      return true;
    });
    return kept.reverse();
  };
})();
