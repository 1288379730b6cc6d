package server

import (
	"crypto/sha256"
	"sync"
	"time"
)

// Guessing of tokens is slowed down per client: of wrong tokens it has freeGuesses, and then
// one per guessPause.
const (
	freeGuesses = 10
	guessPause  = 5 * time.Second
	maxGuessers = 10_000 // clients that are remembered
)

// guesses counts wrong tokens by client. A client that used a right token before may use it
// while its address guesses: behind one address may be many clients.
type guesses struct {
	mu      sync.Mutex
	clients map[string]*guesser
}

type guesser struct {
	free  float64 // guesses left
	at    time.Time
	right map[[sha256.Size]byte]bool // tokens that were right, by their hash
}

func newGuesses() *guesses { return &guesses{clients: map[string]*guesser{}} }

// judge counts a token of a client and returns how long the client must wait, at least;
// 0: the token counts. A client that must wait does not learn whether the token is right.
func (g *guesses) judge(client, token string, right bool, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.clients[client]
	if c == nil {
		g.makeRoom(now)
		c = &guesser{free: freeGuesses, at: now, right: map[[sha256.Size]byte]bool{}}
		g.clients[client] = c
	}
	hash := sha256.Sum256([]byte(token))
	if right && c.right[hash] {
		return 0
	}
	c.free = min(freeGuesses, c.free+float64(now.Sub(c.at))/float64(guessPause))
	c.at = now
	switch {
	case c.free < 1:
		return (time.Duration((1 - c.free) * float64(guessPause))).Round(time.Second) + time.Second
	case right:
		c.right[hash] = true
	default:
		c.free--
	}
	return 0
}

// makeRoom forgets clients if there are too many: those without recent guesses, and a tenth
// of all, so that it is seldom called.
func (g *guesses) makeRoom(now time.Time) {
	if len(g.clients) < maxGuessers {
		return
	}
	left := maxGuessers / 10
	for name, c := range g.clients {
		if left > 0 || now.Sub(c.at) > freeGuesses*guessPause {
			delete(g.clients, name)
			left--
		}
	}
}
