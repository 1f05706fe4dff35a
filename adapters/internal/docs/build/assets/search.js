// The search of the documentation. It reads the words from the address, so that the form works
// without a script, too. search-data.js defines sections: title of the page, heading, link, text.
"use strict";

const most = 50; // results on the page
const around = 80; // characters of a text before and after the first word

const words = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
if (words.length > 0) {
  document.getElementById("site-search").value = words.join(" ");
  show(find(words));
}

// find returns the sections with all words, the best first: a word in a heading counts more than one
// in the title of the page, and that more than one in the text.
function find(words) {
  const found = [];
  for (const [title, heading, link, text] of sections) {
    const places = [[heading, 100], [title, 10], [text, 1]].map(([part, weight]) => [part.toLowerCase(), weight]);
    let score = 0;
    const all = words.every((word) => {
      const weights = places.filter(([part]) => part.includes(word)).map(([, weight]) => weight);
      score += Math.max(0, ...weights);
      return weights.length > 0;
    });
    if (all) {
      found.push({ title, heading, link, text, score });
    }
  }
  return found.sort((a, b) => b.score - a.score);
}

function show(found) {
  document.getElementById("headings").hidden = true;
  const cut = found.length > most ? ` The first ${most} are listed.` : "";
  document.getElementById("status").textContent =
    (found.length === 1 ? "1 section has" : `${found.length} sections have`) + ` “${words.join(" ")}”.${cut}`;
  const list = document.getElementById("results");
  for (const section of found.slice(0, most)) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = section.link;
    link.textContent = section.heading === section.title ? section.title : `${section.title}: ${section.heading}`;
    item.append(link, document.createElement("br"), ...excerpt(section.text));
    list.append(item);
  }
}

// excerpt returns the text around the first word that it has, with the word marked.
function excerpt(text) {
  const lower = text.toLowerCase();
  const word = words.find((w) => lower.includes(w));
  if (word === undefined) {
    return [text.slice(0, 2 * around)];
  }
  const at = lower.indexOf(word);
  const mark = document.createElement("mark");
  mark.textContent = text.slice(at, at + word.length);
  const start = Math.max(0, at - around);
  return [(start > 0 ? "…" : "") + text.slice(start, at), mark, text.slice(at + word.length, at + word.length + around) + "…"];
}
