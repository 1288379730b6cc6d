// Checks the orders of many tenants, each with a schema of its own.
const lib = require('ajv')
const Ajv = lib.default || lib

function schemaOf(tenant) {
  const line = { type: 'object', properties: { sku: { type: 'string' }, qty: { type: 'integer', minimum: 1 } } }
  return { type: 'object', required: ['id'], properties: { id: { type: 'integer' }, name: { type: 'string', minLength: 1 },
    ['field' + tenant]: { type: 'number' }, lines: { type: 'array', items: line } } }
}

function validator(tenant) {
  return new Ajv().compile(schemaOf(tenant))
}

function checkOrders(tenant) {
  const valid = validator(tenant)
  let ok = 0
  for (let i = 0; i < 2000; i++) if (valid({ id: i, name: 'n' + i, lines: [{ sku: 's', qty: i % 4 }, { sku: 't', qty: 1 }] })) ok++
  return ok
}

let ok = 0
for (let tenant = 0; tenant < 350; tenant++) ok += checkOrders(tenant)
console.log(ok)
