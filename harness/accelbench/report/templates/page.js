// What the page offers beyond being read. Without this script everything is there: unsorted, unfiltered, to be opened.
(() => {
  "use strict";

  const made = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // A button in each heading; the sorting script hears its clicks, and Enter and Space become clicks.
  const offerSorting = (table) => {
    for (const heading of table.tHead.rows[0].cells) {
      heading.append(made("button", { type: "button", className: "sort" }, ...heading.childNodes));
    }
  };

  // One field for words and one choice for each facet, such as the verdict, of which the rows have several values.
  const filters = new Map();
  const offerFilters = (table) => {
    const rows = [...table.tBodies[0].rows];
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
    const fields = { words: made("input", { type: "search" }) };
    for (const facet of Object.keys(rows[0]?.dataset ?? {})) {
      const values = [...new Set(rows.map((row) => row.dataset[facet]))].filter(Boolean).sort();
      if (values.length > 1) {
        fields[facet] = made("select", {}, new Option("all", ""), ...values.map((value) => new Option(value)));
      }
    }
    const counted = made("p", {});
    counted.setAttribute("role", "status");

    const apply = () => {
      const words = fields.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = Object.keys(fields).filter((facet) => facet !== "words" && fields[facet].value);
      for (const row of rows) {
        const fits = words.every((word) => texts.get(row).includes(word));
        row.hidden = !fits || !chosen.every((facet) => row.dataset[facet] === fields[facet].value);
      }
      counted.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    };
    const remember = () => {
      const given = Object.entries(fields).map(([name, field]) => [name, field.value]);
      const query = new URLSearchParams(given.filter(([, value]) => value)).toString();
      history.replaceState(null, "", `#${table.id}${query && "?"}${query}`);
    };

    const label = (name) => made("label", {}, name === "words" ? "Filter" : name, fields[name]);
    const save = made("button", { type: "button", textContent: "CSV of these rows" });
    save.addEventListener("click", () => download(table, `${table.id}.csv`));
    const bar = made("div", { className: "filters" }, ...Object.keys(fields).map(label), save, counted);
    bar.addEventListener("input", () => { apply(); remember(); });
    const box = table.closest(".scroll");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", `Filter of ${box.getAttribute("aria-label")}`);
    box.before(bar);
    filters.set(table.id, (query) => {
      for (const [name, field] of Object.entries(fields)) field.value = query.get(name) ?? "";
      apply();
      return bar;
    });
    apply();
  };

  // The rows that are seen, as text. A cell that a spreadsheet would run as a formula begins with an apostrophe.
  const download = (table, name) => {
    const written = (cell) => {
      const text = cell.textContent.trim().replace(/^[=+\-@\t\r＝＋－＠]/, "'$&");
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const rows = [...table.rows].filter((row) => !row.hidden).map((row) => [...row.cells].map(written).join(","));
    const address = URL.createObjectURL(new Blob([`${rows.join("\n")}\n`], { type: "text/csv;charset=utf-8" }));
    made("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  };

  // One place says aloud what a button did.
  const said = made("p", { className: "unseen" });
  said.setAttribute("role", "status");
  const say = (text) => { said.textContent = ""; setTimeout(() => { said.textContent = text; }, 50); };

  const offerCopying = (code) => {
    const what = code.dataset.what;
    const button = made("button", { type: "button", className: "copying" });
    const show = (word) => {
      button.textContent = word;
      button.setAttribute("aria-label", `${word} ${what}`);
    };
    const copied = () => {
      show("Copied");
      say(`Copied ${what}`);
      setTimeout(() => show("Copy"), 5000);
    };
    const copySelected = () => {
      getSelection().selectAllChildren(code);  // and if nothing may write the clipboard, a reader can
      if (document.execCommand("copy")) copied(); else say("Selected; press Ctrl and C to copy");
    };
    show("Copy");
    button.addEventListener("click", () => {
      if (!navigator.clipboard) copySelected();
      else navigator.clipboard.writeText(code.textContent).then(copied, copySelected);
    });
    code.after(button);
  };

  // A search over techniques and workloads by all of their names. Enter goes to the first that is found.
  const offerFinding = (main) => {
    const plain = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu)?.join(" ") ?? "";
    const places = [...main.querySelectorAll("article[data-names]")].map((article) => {
      const heading = article.querySelector("h3").cloneNode(true);
      heading.querySelectorAll(".self").forEach((link) => link.remove());
      const title = heading.textContent.trim();
      const names = article.dataset.names;
      return { id: article.id, title, names, text: plain(`${title} ${names}`) };
    });
    if (!places.length) return;
    const field = made("input", { type: "search", placeholder: "num_workers, mixed precision …" });
    const list = made("ul", {});
    const counted = made("p", { className: "small soft" });
    counted.setAttribute("role", "status");
    const find = () => {
      const words = plain(field.value).split(" ").filter(Boolean);
      const found = words.length ? places.filter((place) => words.every((word) => place.text.includes(word))) : [];
      list.replaceChildren(...found.map((place) => {
        const hits = place.names.split(", ").filter((name) => words.some((word) => plain(name).includes(word)));
        const also = made("span", { className: "small soft" }, ` ${hits.slice(0, 3).join(", ")}`);
        return made("li", {}, made("a", { href: `#${place.id}` }, place.title), also);
      }));
      counted.textContent = words.length ? `${found.length || "nothing"} found` : "";
    };
    const label = made("label", {}, made("span", { className: "small soft" }, "Find a technique or a workload"), field);
    const box = made("form", { className: "finder" }, label, counted, list);
    box.setAttribute("role", "search");
    box.addEventListener("submit", (event) => {
      event.preventDefault();
      list.querySelector("a")?.click();
    });
    field.addEventListener("input", find);
    const first = main.querySelector(".first");
    if (first) first.after(box); else main.prepend(box);
  };

  // A link leads to an id and may carry a filter, such as #effects?verdict=faster. What is closed around it opens.
  const follow = () => {
    const [id, query] = location.hash.slice(1).split("?");
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let place = target; place; place = place.parentElement) {
      if (place instanceof HTMLDetailsElement) place.open = true;
    }
    const bar = filters.get(id)?.(new URLSearchParams(query));
    (bar ?? target).scrollIntoView();
  };

  document.querySelectorAll("table.sortable").forEach(offerSorting);
  document.querySelectorAll("table.filtered").forEach(offerFilters);
  document.querySelectorAll(".copy").forEach(offerCopying);
  document.body.append(said);
  document.querySelectorAll("main").forEach(offerFinding);
  addEventListener("hashchange", follow);
  follow();
})();
