"use strict";
(() => {
  const bar = document.getElementById("filter");
  const words = document.getElementById("words");
  const verdict = document.getElementById("verdict");
  const said = document.getElementById("said");
  const articles = [...document.querySelectorAll("article[data-verdict]")];
  const groups = [...document.querySelectorAll("#table tbody")];
  const texts = new Map();
  const textOf = (article) => {
    if (!texts.has(article)) texts.set(article, article.textContent.toLowerCase());
    return texts.get(article);
  };
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const article of articles) {
      const fits = !verdict.value || article.dataset.verdict === verdict.value;
      const visible = fits && wanted.every((word) => textOf(article).includes(word));
      article.hidden = !visible;
      document.getElementById("row-" + article.id).hidden = !visible;
      shown += visible;
    }
    for (const group of groups) group.hidden = !group.querySelector("tr[id]:not([hidden])");
    said.textContent = shown === articles.length ? "" : `${shown} of ${articles.length} shown`;
  };
  words.addEventListener("input", filter);
  verdict.addEventListener("change", filter);
  addEventListener("beforeprint", () => document.querySelectorAll("details.margins").forEach((d) => (d.open = true)));
  bar.hidden = false;
})();
