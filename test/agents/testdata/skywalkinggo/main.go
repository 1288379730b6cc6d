// A shop whose requests compute, for SkyWalking's Go agent: its trace profiling is a CPU
// profile. The agent is woven in by the tool that builds this.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	_ "github.com/apache/skywalking-go"
)

// spin computes until some time has passed.
//
//go:noinline
func spin(d time.Duration) (n int) {
	for end := time.Now().Add(d); time.Now().Before(end); n++ {
	}
	return n
}

//go:noinline
func loadPrices() int { return spin(120*time.Millisecond) + 1 }

//go:noinline
func render() int { return spin(30*time.Millisecond) + 1 }

func main() {
	http.HandleFunc("/checkout", func(w http.ResponseWriter, _ *http.Request) {
		start := time.Now()
		loadPrices()
		slow := time.Since(start)
		render()
		json.NewEncoder(w).Encode(map[string]float64{"slow": slow.Seconds() * 1e3, "rest": (time.Since(start) - slow).Seconds() * 1e3})
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("http://" + l.Addr().String())
	panic(http.Serve(l, nil))
}
