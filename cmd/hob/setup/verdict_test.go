package setup_test

import (
	"errors"
	"strings"
	"testing"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/daemon/api"
)

// TestVerdict lets only models do chores that call tools and use the results.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		text, call, result string
		able               bool
		says               string
	}{
		{"yes", "yes", "yes", true, "can do chores"},
		{"failed", "skipped", "skipped", false, "no usable answer"},
		{"yes", "no", "skipped", false, "does not call tools"},
		{"yes", "wrong_arguments", "skipped", false, "does not call tools"},
		{"yes", "refused", "skipped", false, "does not call tools"},
		{"yes", "failed", "skipped", false, "broke off"},
		{"yes", "yes", "no", false, "does not use the results"},
		{"yes", "yes", "skipped", false, "broke off"},
	} {
		var r api.ModelTest
		set(&r.Text.Outcome, c.text)
		set(&r.Call.Outcome, c.call)
		set(&r.Result.Outcome, c.result)
		set(&r.Vision.Outcome, "no") // pictures are not needed
		if able, says := setup.Verdict(r); able != c.able || !strings.Contains(says, c.says) {
			t.Errorf("%+v: %v, %q", c, able, says)
		}
	}
}

// A failure that passes is no verdict about the model, and a refused key has a remedy.
func TestVerdictOnAFailure(t *testing.T) {
	for _, c := range []struct {
		fault, text string
		wait        int64
		says        string
	}{
		{"rate_limit", "it limits requests (HTTP 429): slow down.", 30, "This model could not be tried now, try again in 30 s: it limits requests (HTTP 429): slow down."},
		{"overloaded", "it is broken (HTTP 503)", 0, "This model could not be tried now, try again later: it is broken (HTTP 503)."},
		{"auth", "it refused the key (HTTP 401)", 0, "This model cannot be used; check api_key in the config: it refused the key (HTTP 401)."},
		{"auth", "not signed in: hob model login", 0, "This model cannot be used: it gave no usable answer: not signed in: hob model login."},
		{"payment", "it wants to be paid", 0, "This model cannot be used: it gave no usable answer: it wants to be paid."},
	} {
		var r api.ModelTest
		set(&r.Text.Outcome, "failed")
		set(&r.Text.Fault, c.fault)
		r.Text.Error, r.Text.Wait = c.text, c.wait
		if able, says := setup.Verdict(r); able || says != c.says {
			t.Errorf("%v, %q, want %q", able, says, c.says)
		}
	}
}

// set sets an outcome, whose type is not exported by package api.
func set[T ~string](o *T, text string) { *o = T(text) }

// TestOfflineIsSaidFirst (U60): what a person can look at comes first, the network's own error after it. Other faults stay as the channel says them,
// whatever words are in them.
func TestOfflineIsSaidFirst(t *testing.T) {
	for _, c := range []struct {
		fault      string
		reason     api.Unreached
		text, hint string
	}{
		{"getMe: dial tcp: nothing found", api.NoWay, "channel mine cannot reach its server: is this machine online", "the error is: getMe: dial tcp"},
		{"connect to irc.test:6697: refused", api.NoServer, "channel mine finds no server at its address", "the error is: connect to"},
		{"the server says: connection refused", "", "channel mine does not work: the server says: connection refused", "[channels.mine]"},
	} {
		var p *cli.Problem
		err := setup.PrintTest(&cli.App{JSON: true}, api.ChannelTest{Channel: "mine", Fault: c.fault, Reason: c.reason})
		if !errors.As(err, &p) || !strings.HasPrefix(p.Text, c.text) || !strings.Contains(p.Hint, c.hint) {
			t.Errorf("%s: %+v", c.fault, err)
		}
	}
}
