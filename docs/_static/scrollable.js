// What is wider than the window scrolls by the keyboard too: it can be reached, and only as long as it is wider.
"use strict";
{
  const mark = () => {
    for (const box of document.querySelectorAll("div.highlight pre, .table-wrapper")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("load", mark);
  addEventListener("resize", mark);
}
