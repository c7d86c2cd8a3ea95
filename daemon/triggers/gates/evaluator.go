// Package gates evaluates the gate of a job: it runs the gate's command in the sandbox, requests its page and hashes its files. It reports what it
// found and decides nothing. It never reads hob's own state.
package gates

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/netguard"
	"hob/daemon/sandbox"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/gate"
	"hob/tools"
	"hob/tools/runtime"
)

// Setting holds the permissions of gates under the current config.
type Setting struct {
	Guard    *fsguard.Guard
	Sandbox  *sandbox.Sandbox
	Open     func(context.Context) *sandbox.Sandbox // the same with the machine's network, for jobs that have the right
	Networks []netip.Prefix                         // that may be asked although they are private
}

// Evaluator evaluates gates. Every field but Marked must be set. It is safe for concurrent use.
type Evaluator struct {
	Setting   func() Setting                                           // read at each look
	AgentBusy func(ctx context.Context, now time.Time) (bool, error)   // a turn runs, or the owner waits for one
	NoModel   func() bool                                              // no model is connected
	Record    func(ctx context.Context, changes ...tools.Change) error // stores the marks of files that a command wrote
	Now       func() time.Time                                         //
	Spawn     *sys.Group                                               //
	Registry  *runtime.Registry                                        // of background commands, whose files may be foreign
	Marked    func() []string                                          // paths that hold foreign text
	Environ   []string                                                 // hob's own environment, of which little is handed on
	Instance  string                                                   // marks hob's processes
}

// Limits of one check.
const (
	longestText = 4_000    // characters of a file that the run gets
	mostText    = 64 << 10 // bytes of it that are read
	mostOfPage  = 1 << 30  // bytes of a page, which is hashed and not kept; the limit of one minute usually ends first
)

// Busy returns the reason why hob cannot run the job now; "" if it can.
func (e *Evaluator) Busy(ctx context.Context, j scheduler.Job) (string, error) {
	busy, err := e.AgentBusy(ctx, e.Now())
	switch {
	case err != nil:
		return "", fmt.Errorf("look whether hob is busy: %w", err)
	case busy:
		return "hob is busy", nil
	// A run without a model could only fail.
	case event.AsksModel(j.Prompt, j.Plain) && e.NoModel():
		return "no model is connected", nil
	}
	return "", nil
}

// Content reads the file that must not be empty. A missing file counts as empty.
// Foreign is the reason why the text counts as foreign, or "". A run that gets such a text is tainted.
func (e *Evaluator) Content(_ context.Context, j scheduler.Job) (t gate.Text, err error) {
	text, at, err := fsguard.Text(e.Setting().Guard, j.Gate.Content, mostText)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	return gate.Text{Text: event.Shorten(strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD")), longestText), Foreign: at.Foreign}, nil
}

// Page requests the gate's address, with the version of the last check as a condition. If the server sends the page, its hash is compared.
// Its result has no hash if the page is unchanged (status 304); the caller then keeps the last one.
func (e *Evaluator) Page(ctx context.Context, j scheduler.Job, last gate.Page) (gate.Page, error) {
	link, _, err := netguard.Canonical(j.Gate.URL)
	if err != nil {
		return gate.Page{}, err
	}
	sum := sha256.New()
	req := netguard.Request{Link: link, Header: map[string][]string{"Accept": {"*/*"}}, Into: sum}
	// The conditions belong to the page that was seen last; for another address they would hide its content.
	if last.Link == link && last.Hash != "" {
		if last.ETag != "" {
			req.Header.Set("If-None-Match", last.ETag) // RFC 9110 section 13.1.2
		}
		if last.Modified != "" {
			req.Header.Set("If-Modified-Since", last.Modified) // section 13.1.3
		}
	}
	// The client follows the owner's rules for hosts at each request; private addresses need a place in Networks.
	client := netguard.NewClient(netguard.Config{Allow: e.Setting().Networks, MaxBytes: mostOfPage, Timeout: time.Minute})
	answer, err := client.Do(ctx, req)
	now := gate.Page{Link: link}
	switch {
	case err != nil:
		return now, err
	// A redirect to another host is not followed: the right of the job names this host.
	case answer.Moved != "":
		return now, fmt.Errorf("%s leads to %s: use that address", link, answer.Moved)
	case answer.Status == 304 && last.Link == link:
		return now, nil
	case answer.Status < 200 || answer.Status > 299:
		return now, fmt.Errorf("%s answered with status %d", link, answer.Status)
	}
	now.Hash, now.ETag, now.Modified = hex.EncodeToString(sum.Sum(nil)), header(answer, "ETag"), header(answer, "Last-Modified")
	return now, nil
}

// header returns a header of an answer for the next request, "" if it must not be sent back.
func header(a netguard.Answer, name string) string {
	value := a.Header.Get(name)
	if len(value) > 1000 || netguard.CheckHeader(map[string][]string{"If-None-Match": {value}}) != nil {
		return ""
	}
	return value
}

// mayNet reports whether the owner gave a job the right to use the network.
func mayNet(j scheduler.Job) bool { return slices.Contains(j.Allow, "net") }
