// Lists the tests of a source tree.
const lib = require('minimatch')
const minimatch = lib.minimatch || lib

function makeFiles(n) {
  return Array.from({ length: n }, (_, i) => `src/${'abc'[i % 3]}/m${i % 17}/f${i}.${i % 5 ? 'ts' : 'test.ts'}`)
}

function isTest(file) {
  return minimatch(file, 'src/**/*.{test,spec}.ts')
}

function listTests(files) {
  return files.filter(isTest).map((file) => file.replace(/^src\//, '').toUpperCase())
}

let found = 0
for (let i = 0; i < 400; i++) found += listTests(makeFiles(250)).length
console.log(found)
