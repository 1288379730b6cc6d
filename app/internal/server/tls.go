package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificatePatience is the minimum time between two checks for changed files.
const certificatePatience = time.Second

// loadTLS returns the configuration for a certificate in two PEM files, or nil if none is
// configured.
func loadTLS(cert, key string, log *slog.Logger) (*tls.Config, error) {
	switch {
	case cert == "" && key == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, errors.New("--tls-cert and --tls-key belong together: give both")
	}
	f := &certificateFiles{cert: cert, key: key, log: log}
	if err := f.load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: f.get}, nil
}

// certificateFiles is a certificate that is reloaded when its files change.
type certificateFiles struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	stamp   [2]time.Time // modification times of the loaded files
	checked time.Time
}

func (f *certificateFiles) load() error {
	stamp := f.modified()
	c, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", f.cert, f.key, err)
	}
	f.current, f.stamp = &c, stamp
	return nil
}

func (f *certificateFiles) modified() (stamp [2]time.Time) {
	for i, name := range []string{f.cert, f.key} {
		if info, err := os.Stat(name); err == nil {
			stamp[i] = info.ModTime()
		}
	}
	return stamp
}

// get returns the certificate for a handshake. It reloads changed files; while they do not
// match, the old certificate stays in use.
func (f *certificateFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.checked) > certificatePatience {
		f.checked = now
		if f.modified() != f.stamp {
			if err := f.load(); err != nil {
				f.log.Warn("the changed certificate cannot be used; the old one stays in use", "error", err)
			} else {
				f.log.Info("the certificate was reloaded", "file", f.cert)
			}
		}
	}
	return f.current, nil
}
