export function Chart(_: { params: URLSearchParams }) {
  return <p class="empty">…</p>;
}
