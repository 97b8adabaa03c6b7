
document.getElementById("print").addEventListener("click", () => print());
const content = document.getElementById("content").textContent;
document.getElementById("download").href = `data:application/json;charset=utf-8,${encodeURIComponent(content)}`;
