// Package kafka lets agents report through a real Kafka. It needs Java and,
// the first time, Maven Central.
//
// It has tests only: they start a broker of one node, write what the Java agent
// writes, kill and restart the broker, end a server, and compare what is stored. The fetcher
// itself is in the folder above, where its tests run with a broker in memory.
package kafka
