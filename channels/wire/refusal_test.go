package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/wire"
)

// kind returns the class of an error, as the pump and the host see it.
func kind(err error) string {
	var kinds []string
	for name, k := range map[string]error{"permanent": channels.ErrPermanent, "unknown": channels.ErrUnknown} {
		if errors.Is(err, k) {
			kinds = append(kinds, name)
		}
	}
	if errors.Is(err, channels.ErrAddress) {
		kinds = append(kinds, "address")
	}
	if later, ok := errors.AsType[*channels.RetryAfter](err); ok {
		kinds = append(kinds, "after "+later.After.String())
		if later.Lasts {
			kinds = append(kinds, "lasts")
		}
	}
	if strings.Contains(err.Error(), "take a new token") {
		kinds = append(kinds, "hint")
	}
	return strings.Join(kinds, ", ")
}

func TestStatuses(t *testing.T) {
	s := wire.Statuses{Credentials: []int{401}, Hint: "take a new token", Unsure: []int{504}, Never: []int{413}, NeverOwn: []int{400}}
	cut := errors.New("cut")
	for _, tc := range []struct {
		name                  string
		err                   error
		received, sent, maybe string
	}{
		{"the connection", cut, "", "", "unknown"},
		{"an answer that cannot be read", &wire.Unread{Check: "none", Err: cut}, "", "", "unknown"},
		{"the token", &wire.Refusal{Status: 401}, "after 5m0s, lasts, hint", "hint", "hint"},
		{"a rate limit", &wire.Refusal{Status: 429, After: time.Second}, "after 1s", "after 1s", "after 1s"},
		{"a rate limit without a time", &wire.Refusal{Status: 429}, "after 0s", "", ""},
		{"a rate limit of one address", &wire.Refusal{Status: 429, Local: true, After: time.Second}, "after 1s", "address, after 1s", "address, after 1s"},
		{"a rate limit of one address without a time", &wire.Refusal{Status: 429, Local: true}, "after 0s", "address", "address"},
		{"a gateway's timeout", &wire.Refusal{Status: 504}, "", "", "unknown"},
		{"too large", &wire.Refusal{Status: 413}, "", "permanent", "permanent"},
		{"not taken by a proxy", &wire.Refusal{Status: 400}, "", "", ""},
		{"not taken by the platform", &wire.Refusal{Status: 400, Own: true}, "", "permanent", "permanent"},
		{"broken", &wire.Refusal{Status: 502, Own: true}, "", "", ""},
	} {
		err := fmt.Errorf("call: %w", tc.err)
		for _, got := range []struct {
			of   string
			err  error
			want string
		}{{"receiving", s.Received(err), tc.received}, {"sending", s.Sent(err, false), tc.sent}, {"sending, maybe written", s.Sent(err, true), tc.maybe}} {
			if k := kind(got.err); k != got.want || !errors.Is(got.err, tc.err) {
				t.Errorf("%s, %s: %q (%v), want %q", tc.name, got.of, k, got.err, got.want)
			}
		}
	}
}

func TestRefusal(t *testing.T) {
	no := &wire.Refusal{Says: "x says", Status: 404, Code: "GONE", Detail: "gone, code 7"}
	err := fmt.Errorf("call: %w", no)
	if no.Error() != "x says 404 (gone, code 7)" || (&wire.Refusal{Says: "x says", Status: 502}).Error() != "x says 502" {
		t.Error(no)
	}
	if wire.Refused(err) != no || !wire.HasStatus(err, 403, 404) || wire.HasStatus(err, 403) || !wire.HasCode(err, "GONE") || wire.HasCode(err, "") || !wire.Final(err) || !wire.Answered(err) {
		t.Error("a refusal is not known")
	}
	if cut := errors.New("cut"); wire.Refused(cut) != nil || wire.HasStatus(cut, 404) || wire.HasCode(cut, "") || wire.Final(cut) || wire.Answered(cut) {
		t.Error("a broken connection is taken for a refusal")
	}
	if wire.Final(&wire.Refusal{Status: 500}) || !wire.Answered(&wire.Unread{Err: no}) {
		t.Error("an answer is not known")
	}
}
