// The status page: asks the HTTP API every few seconds and shows what it said, with its age.
// Text goes in as text, never as markup, so that no name in the cloud can become part of the page.

const EVERY_MS = 5000;
const $ = (id) => document.getElementById(id);

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  const { className, title } = options;
  if (className) element.className = className;
  if (title) element.title = title;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

async function ask(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  if (answer.status === 401) location.reload();
  const body = await answer.json().catch(() => { throw new TypeError("no JSON"); });
  if (!answer.ok && body.error) throw new Error(body.error.message);
  return body;
}

function inDollars(value) {
  return "$" + value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 5 });
}

function age(instant) {
  if (!instant) return "not yet";
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(instant)) / 1000));
  if (seconds < 90) return `${seconds} s ago`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`;
}

let lastHealth = null;
let lastOffers = null;

function showHealth(health) {
  lastHealth = health;
  $("health").textContent = health.status;
  $("health").className = `pill is-${health.status}`;
  showDependencies(health.dependencies, (found) => [found.status, found.detail]);
}

// Nobody knows how things are now: what was known is told as such, and grows older.
function showSilence() {
  $("health").textContent = "unreachable";
  $("health").className = "pill is-unhealthy";
  showDependencies(lastHealth?.dependencies ?? {}, (found) => ["unknown", `not known now; was: ${found.detail}`]);
}

function showDependencies(dependencies, told) {
  $("dependencies").replaceChildren(...Object.entries(dependencies).map(([name, found]) => {
    const [status, detail] = told(found);
    return make("article", { className: "card" },
      make("h3", { className: `dot is-${status}` }, name),
      make("p", {}, detail),
      found.observedAt ? make("p", {}, `seen ${age(found.observedAt)}`) : null);
  }));
}

function stockOf(offer) {
  if (!offer.available) return "sold out";
  return offer.inventory === "unknown" ? "available" : offer.inventory;
}

function offerRow(offer, isBest) {
  const price = offer.pricePerHour === null ? "not sold" : inDollars(offer.pricePerHour);
  return make("tr", { className: offer.available ? "" : "sold-out" },
    make("td", {}, `${offer.gpuNum > 1 ? `${offer.gpuNum} × ` : ""}${offer.productName}`,
      make("span", { className: "product" }, offer.productId)),
    make("td", { title: offer.regionName }, offer.region),
    make("td", { className: "number" }, isBest ? make("span", { className: "best" }, "cheapest") : null,
      make("span", { className: "price" }, price)),
    make("td", {}, stockOf(offer)),
    make("td", { className: "number extra" }, `${offer.cpus}`),
    make("td", { className: "number extra" }, `${offer.memoryGb} GB`));
}

function showOffers(answer) {
  lastOffers = answer;
  const best = answer.offers.find((offer) => offer.available);
  $("offers-count").textContent = `${answer.offers.filter((offer) => offer.available).length} of ${answer.total} available`;
  const rows = answer.offers.map((offer) => offerRow(offer, offer === best));
  $("offer-rows").replaceChildren(...(rows.length ? rows : [remarkRow("Nothing is sold under this filter.")]));
}

function remarkRow(text) {
  const row = make("tr", {}, make("td", {}, text));
  row.firstChild.colSpan = 6;
  return row;
}

function showNoOffers(trouble) {
  lastOffers = null;
  $("offers-count").textContent = "not known";
  $("offer-rows").replaceChildren(remarkRow(`These offers could not be read: ${trouble}`));
}

function showAgeOfOffers() {
  const staleness = lastOffers?.stale ? " (out of date: newer ones are awaited from the cloud)" : "";
  $("observed").textContent = lastOffers ? `prices as of ${age(lastOffers.observedAt)}${staleness}` : "";
}

function showTemplates(answer) {
  $("templates-count").textContent = `${answer.total}`;
  $("template-cards").replaceChildren(...answer.templates.map((template) =>
    make("article", { className: "card" },
      make("h3", {}, template.name),
      make("p", { className: "mono" }, template.image),
      make("p", {}, `template ${template.id} · ${template.channel} · ${template.rootfsSize} GB disk`),
      make("div", { className: "tags" },
        ...template.ports.map((port) => make("span", { className: "tag" }, `${port.port}/${port.type}`)),
        ...template.problems.map((problem) =>
          make("span", { className: "tag wrong", title: problem.message }, `cannot run: ${problem.field}`))))));
}

function showRegions(answer) {
  const select = $("filter").elements.region;
  const chosen = select.value;
  const all = [["", "everywhere"], ...answer.regions.map((region) => [region.code, region.name])];
  select.replaceChildren(...all.map(([value, text]) => {
    const option = make("option", {}, text);
    option.value = value;
    return option;
  }));
  select.value = chosen;
}

function offersPath() {
  const wanted = new URLSearchParams(new FormData($("filter")));
  for (const [name, value] of [...wanted]) if (!value) wanted.delete(name);
  return `/api/offers?${wanted}`;
}

async function show(path, display) {
  let body;
  try {
    body = await ask(path);
  } catch (error) {
    // a TypeError is the browser's own: nobody answered, or somebody else did
    return error instanceof TypeError ? "Ostler does not answer." : error.message;
  }
  display(body);
  return null;
}

// Offers are those of the filter as it is now: what was asked under an earlier one comes too late.
async function refreshOffers() {
  const path = offersPath();
  const rows = $("offer-rows");
  if (rows.dataset.shown !== path) {
    rows.setAttribute("aria-busy", "true");
    $("offers-count").textContent = "reading…";
  }
  const trouble = await show(path, (answer) => {
    if (path !== offersPath()) return;
    showOffers(answer);
    rows.dataset.shown = path;
  });
  if (path !== offersPath()) return null;
  if (trouble && rows.dataset.shown !== path) {
    showNoOffers(trouble);
    delete rows.dataset.shown;
  }
  rows.removeAttribute("aria-busy");
  showAgeOfOffers();
  return trouble;
}

async function refreshRegions() {
  return $("filter").elements.region.options.length > 1 ? null : show("/api/regions", showRegions);
}

async function refresh() {
  const troubles = await Promise.all([
    show("/health", showHealth),
    refreshOffers(),
    show("/api/templates", showTemplates),
    refreshRegions(),
  ]);
  const trouble = troubles.find(Boolean);
  $("trouble").textContent = trouble ?? "";
  $("trouble").hidden = !trouble;
  if (troubles[0]) showSilence();
}

async function keepFresh() {
  if (!document.hidden) await refresh();
  setTimeout(keepFresh, EVERY_MS);
}

$("filter").addEventListener("input", () => void refreshOffers());
$("filter").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("visibilitychange", () => { if (!document.hidden) void refresh(); });
$("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText($("snippet").textContent);
  $("copy").textContent = "Copied";
});
void keepFresh();
