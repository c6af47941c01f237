// Sets the chosen theme before the first paint, so that the page does not flash.
(function () {
  try {
    var theme = localStorage.getItem('agentry.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch (_) {}
})();
