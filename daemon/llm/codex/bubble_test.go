package codex_test

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// taken is a port that somebody else listens on.
func taken(t *testing.T) int {
	t.Helper()
	port := freePort(t)
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return port
}

// TestOneFaultServesAll: those who wait do not ask a struggling server one after the other.
func TestOneFaultServesAll(t *testing.T) {
	port := taken(t)
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, port)
		r.signIn()
		r.pass(time.Hour)
		reply := make(chan struct{})
		r.set(func() {
			r.odd = func(w http.ResponseWriter, _ string) bool {
				<-reply
				refuse(w, http.StatusServiceUnavailable, "")
				return true
			}
		})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				_, _, err := r.account.Credentials(t.Context())
				wantModelFault(t, err, llm.Overloaded, "503")
			})
		}
		synctest.Wait() // all of them wait
		close(reply)
		wg.Wait()
		if n := r.count(); n != 1 {
			t.Errorf("%d renewals", n)
		}
	})
}

// TestSignInDuringARenewal: the tokens of the new account stay in force, whatever comes back for the old one.
func TestSignInDuringARenewal(t *testing.T) {
	port := taken(t)
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, port)
		r.signIn()
		r.pass(time.Hour)
		address := r.last(r.begin())
		reply := make(chan struct{})
		r.set(func() {
			r.odd = func(_ http.ResponseWriter, grant string) bool {
				if grant == "refresh_token" {
					<-reply
				}
				return false
			}
		})
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, _, err := r.account.Credentials(t.Context()); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // the renewal is under way
		wg.Go(func() {
			if err := r.account.Finish(t.Context(), address); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // the new tokens, number 4, are there: the code had number 3
		close(reply)    // those for the old account come last, number 5
		wg.Wait()
		_, account, err := r.account.Credentials(t.Context())
		if err != nil || account != "account-4" || r.status().Account != "account-4" {
			t.Errorf("in force is %s, kept is %s, %v", account, r.status().Account, err)
		}
	})
}

// TestReplacedLoginSignsNobodyIn: what comes back for a sign-in that has ended is dropped.
func TestReplacedLoginSignsNobodyIn(t *testing.T) {
	port := taken(t)
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, port)
		address, reply := r.last(r.begin()), make(chan struct{})
		r.set(func() {
			r.odd = func(http.ResponseWriter, string) bool { <-reply; return false }
		})
		var wg sync.WaitGroup
		wg.Go(func() {
			wantFault(t, r.account.Finish(t.Context(), address), event.Clash, "another sign-in was begun")
		})
		synctest.Wait() // the code is at the server
		wantFault(t, r.account.Finish(t.Context(), address), event.Invalid, "being sent already")
		r.begin()
		close(reply)
		wg.Wait()
		if s := r.status(); s.SignedIn {
			t.Errorf("status: %+v", s)
		}
	})
}
