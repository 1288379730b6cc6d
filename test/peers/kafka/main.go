// Command kafka is a broker of Kafka; topics have three partitions. It prints its address. If
// topics are named, they are there, with one partition, and there are two users: root/secret, who
// may do everything, and reader/public, who may read.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.DefaultNumPartitions(3)}
	if topics := os.Args[1:]; len(topics) > 0 {
		const topic, group, literal, read = 2, 3, 3, 3 // Kafka's numbers
		opts = []kfake.Opt{kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "root", "secret"),
			kfake.SeedTopics(1, topics...),
			kfake.User("PLAIN", "reader", "public", kfake.ACL{Resource: topic, Name: "*", Pattern: literal, Operation: read, Allow: true},
				kfake.ACL{Resource: group, Name: "*", Pattern: literal, Operation: read, Allow: true})}
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(c.ListenAddrs(), ","))
	io.Copy(io.Discard, os.Stdin)
}
