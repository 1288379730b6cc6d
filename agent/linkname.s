// This file lets the package declare functions without bodies, whose bodies are in
// the runtime: see stacks_runtime.go.
