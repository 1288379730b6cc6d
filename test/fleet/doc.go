// Package fleet runs gateways, workers and a reader as processes over a real Kafka, and one
// process that receives the same pushes.
//
// It has tests only. They kill and restart the parts of the fleet while programs push, and
// compare every answer with that of the one process. They need Java and, the first time, Maven
// Central.
package fleet
