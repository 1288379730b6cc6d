// Applies actions to the state of a shop.
const { produce } = require('immer')

function initial(n) {
  return { items: Object.fromEntries(Array.from({ length: n }, (_, i) => ['k' + i, { name: 'n' + i, price: { net: i } }])) }
}

function raisePrices(state, from) {
  return produce(state, (draft) => {
    for (let i = from; i < from + 50; i++) draft.items['k' + i].price.net++
  })
}

function total(state) {
  let sum = 0
  for (const item of Object.values(state.items)) sum += item.price.net
  return sum
}

let state = initial(200)
let sum = 0
for (let i = 0; i < 3000; i++) {
  state = raisePrices(state, i % 150)
  sum += total(state)
}
console.log(sum)
