// Command web is the small server in the demo's image: it says which version answers from which pod,
// and leaves without dropping a request.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// drain is how long it goes on answering after SIGTERM: kube-proxy on the last node may take a moment
// to hear that this pod's endpoint has gone.
const drain = 2 * time.Second

func main() {
	version, err := os.ReadFile("/version")
	if err != nil {
		log.Fatal(err)
	}
	host, _ := os.Hostname()
	greeting := os.Getenv("GREETING")
	var leaving atomic.Bool
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, strings.TrimSpace(string(version)), host, greeting)
	})
	http.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if leaving.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: 5 * time.Second}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	gone := make(chan struct{})
	go func() {
		<-stop.Done()
		leaving.Store(true)
		server.SetKeepAlivesEnabled(false)
		time.Sleep(drain)
		deadline, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = server.Shutdown(deadline)
		close(gone)
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	<-gone
}
