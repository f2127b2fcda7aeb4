// The API's document as Swagger UI shows it; requests made from it use this browser's session.
// Swagger UI has a dark face, which it does not put on by itself: without it dark text stands on our dark page.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const matchScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", matchScheme);
matchScheme();

window.addEventListener("DOMContentLoaded", () => {
  window.SwaggerUIBundle({ url: "/openapi.json", dom_id: "#docs", deepLinking: true, validatorUrl: null });
});
