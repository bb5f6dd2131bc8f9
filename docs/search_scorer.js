// The order of the site's search results: guide pages before the reference, modules for extenders last.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, , , , score]) => {
    if (page === "user_guide/glossary") return score / 4; // says in a line what another page explains
    if (page.startsWith("user_guide/") || page === "index") return score + 8;
    if (/^api\/generated\/sklearn_dprank\.[A-Z]\w*$/.test(page)) return score + 4; // an estimator
    if (page.startsWith("api/generated/")) return score - 4;
    return score;
  },
};
