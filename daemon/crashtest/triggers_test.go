//go:build linux

package crashtest_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// What the caller of the webhook and hob share, as Standard Webhooks writes it.
var (
	hookKey    = []byte("the key of the rig's webhook")
	hookSecret = "whsec_" + base64.StdEncoding.EncodeToString(hookKey)
)

// triggerSources are the sources of triggers other than time: calls of a webhook, a watched folder, a file that a gate reads.
type triggerSources struct {
	caller *http.Client
	calls  []*delivery
	papers watchedFolder
	mail   gateFile
}

func newTriggerSources(dir string) *triggerSources {
	return &triggerSources{
		caller: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		papers: watchedFolder{dir: filepath.Join(dir, "papers"), puts: map[fileVersion]int{}, told: map[int64]string{}},
	}
}

// config is what the config says of them.
func (s *triggerSources) config() string {
	return fmt.Sprintf(`
[watches.papers]
paths = [%q]
settle = "200ms"
prompt = "say: papers have changed"
[hooks.door]
secret = "env:RIG_HOOK"
prompt = "please do {{.do}}"
per_minute = 6000
`, s.papers.dir)
}

// delivery is one call of the webhook. It is repeated under the same id until hob says that it has it.
type delivery struct {
	id, do string
	acked  bool
	again  bool // call once more although it was acknowledged
	inbox  int64
}

// queueWebhook queues a call of the webhook.
func (r *harness) queueWebhook(id, do string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.senses.calls = append(r.senses.calls, &delivery{id: id, do: do})
}

// pendingWebhooks lists the calls that hob has not acknowledged, and those that are repeated.
func (r *harness) pendingWebhooks() (list []*delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.senses.calls {
		if !d.acked || d.again {
			list = append(list, d)
		}
	}
	return list
}

// addressForm finds the address in the ready line.
var addressForm = regexp.MustCompile(`http://[0-9.:]+`)

// deliver makes the calls that wait. false: hob is not there, or not yet.
func (r *harness) deliver(ctx context.Context) bool {
	list := r.pendingWebhooks()
	if len(list) == 0 {
		return true
	}
	select {
	case <-r.proc.ready:
	default:
		return false
	}
	for _, d := range list {
		if !r.call(ctx, addressForm.FindString(r.proc.line)+"/hooks/door", d) {
			return false
		}
	}
	return true
}

// call makes one call. false: hob is not there, or takes none now.
func (r *harness) call(ctx context.Context, url string, d *delivery) bool {
	body := fmt.Appendf(nil, `{"do":%q}`, d.do)
	at := strconv.FormatInt(time.Now().Unix(), 10)
	sum := hmac.New(sha256.New, hookKey)
	sum.Write([]byte(d.id + "." + at + "."))
	sum.Write(body)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		panic("rig: " + err.Error()) // the ready line always names an address
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Webhook-Id", d.id)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	res, err := r.senses.caller.Do(req)
	if err != nil {
		return false
	}
	said, err := io.ReadAll(res.Body)
	if res.Body.Close() != nil || err != nil && res.StatusCode >= http.StatusMultipleChoices {
		return false
	}
	return r.noteWebhookReply(d, res.StatusCode, said)
}

// noteWebhookReply records hob's answer to a request. The status alone is the acknowledgement. A repeated id must get the same number.
func (r *harness) noteWebhookReply(d *delivery, status int, said []byte) bool {
	var receipt struct{ Inbox int64 }
	unread := json.Unmarshal(said, &receipt) != nil
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case status == http.StatusServiceUnavailable:
		return false
	case status != http.StatusOK && status != http.StatusAccepted:
		r.wrong = append(r.wrong, fmt.Sprintf("I1 call %s is answered with %d: %s", d.id, status, said))
	case d.acked && !unread && d.inbox != 0 && d.inbox != receipt.Inbox:
		r.wrong = append(r.wrong, fmt.Sprintf("I1 call %s was acknowledged as %d and again as %d", d.id, d.inbox, receipt.Inbox))
	case d.acked && status != http.StatusOK && d.inbox != 0:
		r.wrong = append(r.wrong, fmt.Sprintf("I1 call %s was acknowledged as %d, and is new again", d.id, d.inbox))
	}
	d.acked, d.again = true, false
	if !unread {
		d.inbox = receipt.Inbox
	}
	return true
}

// checkWebhooks checks that each acknowledged request has one row, one fire and one turn, and that there are no other requests.
func (r *harness) checkWebhooks(b records, sum *counts) (broken []string) {
	known := map[string]bool{}
	for _, d := range r.senses.calls {
		known[d.id] = true
		sum.calls++
		rows := b.rows("SELECT i.seq, coalesce(i.turn, 0) FROM inbox i JOIN fires f ON f.id = i.fire AND f.key = i.ext_id WHERE i.source = 'hook:door' AND i.ext_id = ?", d.id)
		switch {
		case d.acked && len(rows) == 0:
			sum.lost++
			broken = append(broken, fmt.Sprintf("I1 call %s of the webhook was acknowledged and is lost", d.id))
		case len(rows) > 1:
			sum.doubled++
			broken = append(broken, fmt.Sprintf("I1 call %s of the webhook has the rows %v", d.id, rows))
		case d.acked && d.inbox != 0 && rows[0][0] != strconv.FormatInt(d.inbox, 10):
			broken = append(broken, fmt.Sprintf("I1 call %s was acknowledged as %d and is %s", d.id, d.inbox, rows[0][0]))
		case d.acked && rows[0][1] == "0":
			broken = append(broken, fmt.Sprintf("I3 call %s of the webhook has no turn", d.id))
		}
	}
	for _, row := range b.rows("SELECT ext_id FROM inbox WHERE source = 'hook:door' UNION ALL SELECT f.key FROM fires f JOIN triggers t ON t.id = f.trigger WHERE t.kind = 'hook'") {
		if !known[row[0]] {
			broken = append(broken, "I1 nobody has made the call "+row[0])
		}
	}
	return broken
}

// gateFile is a file that a job's gate reads before the job runs.
type gateFile struct {
	n     int
	at    time.Time // when it last changed
	seen  bool      // a slot that came due since has found nothing new: what changed is dealt with
	dealt int       // changes of which that is known
}

// changeGateFile replaces the file atomically.
func (r *harness) changeGateFile() {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, dir := &r.senses.mail, filepath.Join(r.home, "workspace", "mail")
	if _, err := os.Stat(filepath.Dir(dir)); err != nil {
		return // hob has not made its workspace yet
	}
	m.n++
	from := filepath.Join(filepath.Dir(r.home), "letter")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(from, fmt.Appendf(nil, "letter %d\n", m.n), 0o600)
	}
	if err == nil {
		err = os.Rename(from, filepath.Join(dir, "box"))
	}
	if err != nil {
		r.wrong = append(r.wrong, err.Error())
	}
	m.at, m.seen = time.Now(), false
}

// unseenGateFile waits until the job has looked at the present state of the file and found nothing new.
func (r *harness) unseenGateFile(ctx context.Context, c *client.Client) string {
	r.mu.Lock()
	at, seen := r.senses.mail.at, r.senses.mail.seen
	r.mu.Unlock()
	if at.IsZero() || seen {
		return ""
	}
	shut, err := client.List(ctx, c, api.Fires, client.Filter{Name: "mail", State: "skipped", Limit: 1})
	if err != nil {
		return err.Error()
	}
	if len(shut) == 0 || shut[0].Due.Before(at) {
		return fmt.Sprintf("the gate of mail has not been shut since %s", at.Format(time.StampMilli))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.senses.mail.seen = true
	r.senses.mail.dealt++
	return ""
}

// checkGatedJob checks that a job with a gate ran for every change that it had time to see.
func (r *harness) checkGatedJob(b records, sum *counts) (broken []string) {
	sum.letters = r.senses.mail.dealt
	if n := b.number("SELECT count(DISTINCT f.seen) FROM fires f JOIN triggers t ON t.id = f.trigger WHERE t.name = 'mail' AND f.outcome = 'ran' AND f.seen <> ''"); n < int64(r.senses.mail.dealt) {
		broken = append(broken, fmt.Sprintf("the file of a gate changed %d times, and its job ran for %d states of it", r.senses.mail.dealt, n))
	}
	return broken
}

// checkGates checks the invariants of gates that hold at every instant.
func checkGates(b records) (broken []string) {
	for _, rule := range [][2]string{
		{"a gate's change counts as dealt with, and no run that saw it ended well", "SELECT t.name, t.seen FROM triggers t WHERE t.seen <> '' AND NOT EXISTS (SELECT 1 FROM fires f WHERE f.trigger = t.id AND f.outcome = 'ran' AND f.seen = t.seen)"},
		{"a job ran although its gate saw no change", "SELECT name, id FROM (SELECT t.name, f.id, f.seen, lag(f.seen) OVER (PARTITION BY f.trigger ORDER BY f.id) AS before FROM fires f JOIN triggers t ON t.id = f.trigger WHERE f.outcome = 'ran' AND f.seen <> '') WHERE seen = before"},
	} {
		broken = append(broken, b.none(rule[0], rule[1])...)
	}
	return broken
}

// planTriggers plans events that the owner does not cause: requests, files, changes for a gate.
func (r *harness) planTriggers(rng *rand.Rand, k int) {
	if rng.IntN(3) == 0 {
		r.queueWebhook(fmt.Sprintf("call-%d", k), fmt.Sprintf("plain-%d", 70_000+k))
	}
	if rng.IntN(8) == 0 {
		r.changeGateFile()
	}
	if rng.IntN(6) == 0 {
		r.planFileChanges(rng)
		if rng.IntN(2) == 0 {
			r.applyFileChanges() // while hob is down
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.senses.calls); n > 0 && rng.IntN(8) == 0 {
		r.senses.calls[rng.IntN(n)].again = true
	}
}

// deliverTriggers delivers the planned events, and reports whether hob still runs.
func (r *harness) deliverTriggers(ctx context.Context, c *client.Client) bool {
	if r.senses == nil {
		return true
	}
	return r.deliver(ctx) && r.changeFilesWhileRunning(ctx, c)
}

// pendingTrigger names the first event that hob has not noticed yet; "" for none.
func (r *harness) pendingTrigger(ctx context.Context, c *client.Client) string {
	if r.senses == nil {
		return ""
	}
	if n := len(r.pendingWebhooks()); n > 0 {
		return fmt.Sprintf("%d calls of the webhook are not taken", n)
	}
	if why := r.unseenGateFile(ctx, c); why != "" {
		return why
	}
	return r.unreportedChange(ctx, c)
}

// settleTriggers lets hob notice all events before the run goes on. The rest of its work may be unfinished.
func (r *harness) settleTriggers() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	r.up()
	why := ""
	if !until(settleTime, func() bool {
		c, err := r.dial(ctx)
		if err != nil {
			why = err.Error()
			return false
		}
		r.offer(ctx, c)
		why = r.pendingTrigger(ctx, c)
		return why == ""
	}) {
		r.t.Fatalf("not noticed: %s\n%s", why, r.proc.said)
	}
	r.kill()
}

// checkTriggers checks the results of all events that hob had to notice.
func (r *harness) checkTriggers(b records, sum *counts) []string {
	if r.senses == nil {
		return nil
	}
	return append(append(r.checkWebhooks(b, sum), r.checkGatedJob(b, sum)...), r.checkWatch(b, sum)...)
}
