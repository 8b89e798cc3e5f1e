// What a screen reader needs and the theme does not say.
document.addEventListener("DOMContentLoaded", () => {
  // The name of the button must be its visible text, "Search" with the keys that open it.
  for (const button of document.querySelectorAll("button.search-button__button")) {
    if (button.innerText.trim()) button.removeAttribute("aria-label");
  }
  // The arrows of the navigation open the pages below a page.
  for (const summary of document.querySelectorAll(".bd-sidebar summary")) {
    const page = summary.closest("li")?.querySelector("a")?.textContent.trim();
    summary.setAttribute("aria-label", `Pages below ${page}`);
  }
});
