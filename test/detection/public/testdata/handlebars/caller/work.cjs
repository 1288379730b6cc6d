// Renders the page of an order again and again.
const Handlebars = require('handlebars')

const page = Handlebars.compile('{{#each rows}}<tr><td>{{name}}</td><td>{{price.net}}</td>{{#if hot}}<b>{{price.gross}}</b>{{/if}}</tr>{{/each}}')

function makeRows(n) {
  return Array.from({ length: n }, (_, i) => ({ name: 'item ' + i, price: { net: i, gross: i * 1.19 }, hot: i % 2 === 0 }))
}

function renderOrder(rows) {
  return page({ rows })
}

function checksum(text) {
  let sum = 0
  for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) | 0
  return sum
}

let sum = 0
for (let i = 0; i < 10000; i++) sum ^= checksum(renderOrder(makeRows(200)))
console.log(sum)
