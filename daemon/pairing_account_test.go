package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"hob/channels"
	"hob/daemon/event"
)

// station is a place in which hob has an account.
type station struct {
	*place
	account string
}

var errNobody = errors.New("the token is nobody's")

func (s station) Account(context.Context) (string, error) {
	if s.account == "" {
		return "", errNobody
	}
	return s.account, nil
}

// as gives channel x another account.
func (h *house) as(account string) {
	h.x = newPlace()
	h.Host.Replace(map[string]channels.Section{"x": {Kind: "station", Fingerprint: fmt.Sprint(account, h.n), Channel: station{h.x, account}}})
	h.says(h.x, h.by("9", "is it you?")) // it is taken: the account is known
}

// pairingState describes a pairing: its trust, the account that made it, and its entry in the list of channels.
func (h *house) pairingState(id int64) string {
	h.t.Helper()
	r := h.pairing(id)
	for _, c := range h.Admin.Channels() {
		if c.Name == "x" {
			return fmt.Sprintf("%s by %q; owner %v, lapsed %v", r.State, r.Account, c.Owner, c.FormerOwners)
		}
	}
	return "there is no channel x"
}

// TestPairingHoldsForOneAccount changes the account under a pairing: it counts for its own only, the owner is told once, and he pairs again.
func TestPairingHoldsForOneAccount(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("[owner]\naddresses = [\"x:5\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, home)
	b := h.begin("x") // by a channel that does not know its account, as before accounts were kept
	h.says(h.x, h.by("7", b.Code))
	is := func(when, want string, heard bool) {
		t.Helper()
		if got := h.pairingState(b.ID); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
		for _, by := range []string{"7", "5"} {
			before := len(h.inbox())
			m := h.by(by, "hello")
			m.ID = fmt.Sprint(when, by)
			h.says(h.x, m)
			if got := len(h.inbox()) > before; got != (heard || by == "5") { // 5 is the config's
				t.Errorf("%s: %s is heard: %v", when, by, got)
			}
		}
	}
	is("not known", `bound by ""; owner [5 7], lapsed []`, true)
	h.as("A")
	is("taken over", `bound by "A"; owner [5 7], lapsed []`, true)
	told := h.told()
	h.as("B")
	is("another one", `lapsed by "A"; owner [5], lapsed [7]`, false)
	if more := len(h.told()) - len(told); more != 1 {
		t.Errorf("the owner was told %d times: %q", more, h.told())
	}
	if list, err := h.Admin.Pairings(t.Context(), event.Filter{State: "lapsed"}); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	h.close()
	h = newHouse(t, home)
	h.n = 1000
	h.as("B")
	is("after a restart", `lapsed by "A"; owner [5], lapsed [7]`, false)
	h.as("A")
	is("the first one again", `bound by "A"; owner [5 7], lapsed []`, true)
	h.as("B")
	var times int // a new house begins with a channel that knows no account, which may have its own notice
	if err := h.Store.Reader().QueryRowContext(t.Context(), "SELECT count(*) FROM outbox WHERE key LIKE '%:lapsed:B'").Scan(&times); err != nil || times != 1 {
		t.Errorf("the owner was told %d times, %v", times, err)
	}
	again := h.begin("x")
	h.says(h.x, h.by("7", again.Code))
	is("paired again", `revoked by "A"; owner [5 7], lapsed []`, true)
	if r := h.pairing(again.ID); r.State != channels.PairingBound || r.Account != "B" {
		t.Errorf("%+v", r)
	}
	h.x = newPlace() // a kind of channel that knows none, in the place of the one before
	h.Host.Replace(map[string]channels.Section{"x": {Kind: "place", Fingerprint: "other", Channel: h.x}})
	h.says(h.x, h.by("9", "is it you?"))
	if got := h.Owner(); !slices.Equal(got, []event.Address{"x:5"}) {
		t.Errorf("owners on another kind of channel: %q", got)
	}
}

// TestNothingIsReceivedByAnUnknownAccount: who is let in depends on it.
func TestNothingIsReceivedByAnUnknownAccount(t *testing.T) {
	h := newHouse(t, t.TempDir())
	h.says(h.x, h.by("7", h.begin("x").Code))
	x := newPlace()
	h.Host.Replace(map[string]channels.Section{"x": {Kind: "station", Fingerprint: "2", Channel: station{x, ""}}})
	limit, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for ill := false; !ill && limit.Err() == nil; runtime.Gosched() {
		for _, c := range h.Host.Health() {
			ill = ill || c.Name == "x" && c.Receiving.State != channels.OK
		}
	}
	if limit.Err() != nil {
		t.Fatal("a channel whose account is not known works")
	}
	select {
	case x.posted <- posting{[]channels.Message{h.by("7", "hello")}, make(chan error, 1)}:
		t.Error("it receives")
	default:
	}
}
