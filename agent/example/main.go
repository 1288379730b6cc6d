// Command example is a small web shop that shows trace profiling of a Go service:
// its checkout computes, waits for a lock, sleeps, waits for a channel and calls
// another service. See the README for the whole round.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/dendroprof/dendro/agent"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to serve HTTP on")
	flag.Parse()
	if err := run(*listen); err != nil {
		log.Fatal(err)
	}
}

func run(address string) error {
	stop, err := agent.Start(agent.Options{Service: "shop", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer func() {
		if err := stop(context.Background()); err != nil {
			log.Print(err)
		}
	}()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	shop := newShop("http://" + listener.Addr().String())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /checkout", shop.checkout)
	mux.HandleFunc("GET /stock/{item}", shop.stock)
	server := &http.Server{Handler: agent.Handler(mux)}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	defer context.AfterFunc(ctx, func() { server.Close() })()
	fmt.Println("http://" + listener.Addr().String())
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// shop is the service; url is its own address, where it finds the stock.
type shop struct {
	url    string
	client *http.Client
	prices sync.Mutex
}

func newShop(url string) *shop {
	return &shop{url: url, client: &http.Client{Transport: agent.Transport(nil)}}
}

// took says how long the parts of a request took, in ms.
type took map[string]float64

func (t took) measure(part string, f func()) {
	start := time.Now()
	f()
	t[part] += float64(time.Since(start)) / float64(time.Millisecond)
}

// checkout answers with what took how long.
func (s *shop) checkout(w http.ResponseWriter, r *http.Request) {
	took := took{}
	took.measure("computeTax", computeTax)
	took.measure("lockPrices", s.lockPrices)
	took.measure("waitForPayment", waitForPayment)
	took.measure("sleepALittle", sleepALittle)
	var err error
	took.measure("askStock", func() { err = s.askStock(r.Context()) })
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	parallel := make(chan struct{})
	agent.Go(r.Context(), func(context.Context) {
		defer close(parallel)
		printReceipt()
	})
	<-parallel
	json.NewEncoder(w).Encode(took)
}

// computeTax computes for 150 ms.
//
//go:noinline
func computeTax() {
	addUp(time.Now().Add(150 * time.Millisecond))
}

//go:noinline
func addUp(end time.Time) {
	for sum := 0; time.Now().Before(end); {
		for i := range 10_000 {
			sum += i * i
		}
	}
}

// lockPrices waits for a lock that somebody else holds for 120 ms.
//
//go:noinline
func (s *shop) lockPrices() {
	held := make(chan struct{})
	go func() {
		s.prices.Lock()
		close(held)
		time.Sleep(120 * time.Millisecond)
		s.prices.Unlock()
	}()
	<-held
	s.prices.Lock()
	defer s.prices.Unlock()
}

// waitForPayment waits 100 ms for a channel.
//
//go:noinline
func waitForPayment() {
	paid := make(chan string)
	time.AfterFunc(100*time.Millisecond, func() { paid <- "paid" })
	<-paid
}

//go:noinline
func sleepALittle() { time.Sleep(80 * time.Millisecond) }

// askStock calls the endpoint for the stock, which takes 60 ms.
//
//go:noinline
func (s *shop) askStock(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/stock/apple", nil)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func (s *shop) stock(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(60 * time.Millisecond)
	fmt.Fprintln(w, 3)
}

// printReceipt runs in a goroutine of its own, and so in a segment of its own.
//
//go:noinline
func printReceipt() { time.Sleep(50 * time.Millisecond) }
