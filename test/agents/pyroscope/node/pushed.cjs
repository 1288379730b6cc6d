// A small program that Pyroscope's SDK for Node.js profiles.
//
//	pushed.cjs ADDRESS TOKEN
//
// It computes until its input ends, and pushes time and memory every two seconds.
const { init, start, stop, wrapWithLabels } = require('@pyroscope/nodejs')

// computeTax takes most of the time.
function computeTax() {
  let sum = 0
  for (let i = 0; i < 20_000_000; i++) sum += Math.sqrt(i)
  kept.push(new Array(10_000).fill(sum))
  if (kept.length > 100) kept.shift()
}

// renderPage takes the rest.
function renderPage() {
  let sum = 0
  for (let i = 0; i < 1_000_000; i++) sum += Math.cbrt(i)
  return sum
}

const kept = []
let ended = false
process.stdin.resume().on('end', () => { ended = true })

init({
  appName: 'pushed.node.app',
  serverAddress: process.argv[2],
  authToken: process.argv[3],
  flushIntervalMs: 2000,
  tags: { service_version: '1.2.3' },
  wall: { collectCpuTime: true },
})
start()

async function turn() {
  if (ended) {
    await stop()
    process.exit()
  }
  wrapWithLabels({ controller: 'checkout' }, computeTax)
  renderPage()
  setImmediate(turn)
}
turn()
