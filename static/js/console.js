// The console's own script. Pages work without it; it adds copying, menus, toasts, relative times and kept text.
document.documentElement.classList.add("js");
