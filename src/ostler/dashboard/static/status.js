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

function showHealth(health) {
  $("health").textContent = health.status;
  $("health").className = `pill is-${health.status}`;
  $("dependencies").replaceChildren(...Object.entries(health.dependencies).map(([name, found]) =>
    make("article", { className: "card" },
      make("h3", { className: `dot is-${found.status}` }, name),
      make("p", {}, found.detail),
      found.observedAt ? make("p", {}, `seen ${age(found.observedAt)}`) : null)));
}

function stockOf(offer) {
  if (!offer.available) return "sold out";
  return offer.inventory === "unknown" ? "available" : offer.inventory;
}

function offerRow(offer, isBest) {
  const price = offer.pricePerHour === null ? "not sold" : inDollars(offer.pricePerHour);
  return make("tr", { className: offer.available ? "" : "sold-out" },
    make("td", {}, `${offer.gpuNum > 1 ? `${offer.gpuNum} × ` : ""}${offer.productName}`,
      make("span", { className: "product extra" }, offer.productId)),
    make("td", { title: offer.regionName }, offer.region),
    make("td", { className: "number" }, isBest ? make("span", { className: "best extra" }, "cheapest") : null,
      make("span", { className: "price" }, price)),
    make("td", {}, stockOf(offer)),
    make("td", { className: "number extra" }, `${offer.cpus}`),
    make("td", { className: "number extra" }, `${offer.memoryGb} GB`));
}

function showOffers(answer) {
  const best = answer.offers.find((offer) => offer.available);
  $("offers-count").textContent = `${answer.offers.filter((offer) => offer.available).length} of ${answer.total} available`;
  const rows = answer.offers.map((offer) => offerRow(offer, offer === best));
  const none = make("tr", {}, make("td", {}, "Nothing is sold under this filter."));
  none.firstChild.colSpan = 6;
  $("offer-rows").replaceChildren(...(rows.length ? rows : [none]));
  const staleness = answer.stale ? " (the cloud does not answer; these are its last words)" : "";
  $("observed").textContent = `prices as of ${age(answer.observedAt)}${staleness}`;
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
  if ($("offer-rows").dataset.shown !== path) $("offer-rows").setAttribute("aria-busy", "true");
  let isLate = false;
  const trouble = await show(path, (answer) => {
    isLate = path !== offersPath();
    if (isLate) return;
    showOffers(answer);
    $("offer-rows").dataset.shown = path;
    $("offer-rows").removeAttribute("aria-busy");
  });
  return isLate || path !== offersPath() ? null : trouble;
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
  if (troubles[0]) {
    $("health").textContent = "unreachable";
    $("health").className = "pill is-unhealthy";
  }
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
