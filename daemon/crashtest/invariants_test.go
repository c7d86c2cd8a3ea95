//go:build linux

package crashtest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/markup"
)

// counts are the totals of a run, for the summary.
type counts struct {
	kills, inputs, lost, doubled, dead, repeated, marked, held int
	turns                                                      int
	calls, papers, letters                                     int // of a webhook taken, under a watch told of, behind a gate dealt with
	classes                                                    map[channels.Repeats]serverCounts
}

func (a *counts) add(b counts) {
	a.kills += b.kills
	a.inputs += b.inputs
	a.lost += b.lost
	a.doubled += b.doubled
	a.dead += b.dead
	a.repeated += b.repeated
	a.marked += b.marked
	a.held += b.held
	a.turns += b.turns
	a.calls += b.calls
	a.papers += b.papers
	a.letters += b.letters
	for class, s := range b.classes {
		if a.classes == nil {
			a.classes = map[channels.Repeats]serverCounts{}
		}
		total := a.classes[class]
		total.add(s)
		a.classes[class] = total
	}
}

// check holds everything against the invariants, after hob has settled and stopped.
func (r *harness) check() (counts, []string) {
	r.t.Helper()
	b := r.readRecords()
	sum := counts{kills: r.crashes, inputs: len(r.posts) + len(r.pushes)}
	broken := append(slices.Clone(r.wrong), r.always(b)...)
	broken = append(broken, r.inputs(b, &sum)...)
	broken = append(broken, r.turns(b, &sum)...)
	broken = append(broken, r.delivered(b, &sum)...)
	broken = append(broken, r.checkChats(b, &sum)...)
	broken = append(broken, r.spoken(b)...)
	broken = append(broken, r.effects(b, &sum)...)
	broken = append(broken, r.checkTasks(b)...)
	broken = append(broken, r.schedule(b)...)
	broken = append(broken, r.checkTriggers(b, &sum)...)
	broken = append(broken, r.spent(b)...)
	broken = append(broken, r.leftovers(b)...)
	broken = append(broken, r.checkStrayFiles(b)...)
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	sum.repeated = r.world.repeated
	if sum.repeated > r.crashes {
		broken = append(broken, fmt.Sprintf("a model was asked the same %d times, with %d crashes", sum.repeated, r.crashes))
	}
	for key, n := range r.world.again {
		if n > r.crashes {
			broken = append(broken, fmt.Sprintf("a model was asked the same %d times for a sub-agent, with %d crashes: %s", n, r.crashes, cut(key)))
		}
	}
	return sum, append(broken, r.world.wrong...)
}

// inputs is I1 and I2: what was acknowledged, or what a server holds, is in the inbox once, and every row has ended.
func (r *harness) inputs(b records, sum *counts) (broken []string) {
	known := map[string]bool{}
	for _, p := range r.posts {
		known["cli "+p.ID] = true
		rows := b.rows("SELECT seq, json_extract(parts, '$[0].text') FROM inbox WHERE source = 'cli' AND ext_id = ?", p.ID)
		switch {
		case p.acked && len(rows) == 0:
			sum.lost++
			broken = append(broken, fmt.Sprintf("I1 message %s (%s) was acknowledged and is lost", p.ID, p.Text))
		case p.acked && (rows[0][0] != fmt.Sprint(p.receipt.Inbox) || rows[0][1] != p.Text):
			broken = append(broken, fmt.Sprintf("I1 message %s (%s) was acknowledged as %d and is %v", p.ID, p.Text, p.receipt.Inbox, rows[0]))
		}
	}
	for id, p := range r.pushes {
		known["ntfy "+id] = true
		if b.number("SELECT count(*) FROM inbox WHERE source = 'ntfy' AND ext_id = ?", id) != 1 {
			sum.lost++
			broken = append(broken, fmt.Sprintf("I1 message %s (%s) is lost: the server holds it", id, p.text))
		}
	}
	for _, row := range b.rows("SELECT source, ext_id FROM inbox WHERE source IN ('cli', 'ntfy')") {
		if !known[row[0]+" "+row[1]] {
			broken = append(broken, fmt.Sprintf("I1 nobody has sent %s %s", row[0], row[1]))
		}
	}
	sum.dead = int(b.number("SELECT count(*) FROM inbox WHERE state = 'dead'"))
	return append(broken, b.none("I2 an input has not ended", "SELECT seq, state, turn FROM inbox WHERE state NOT IN ('done', 'dead', 'expired', 'dropped')")...)
}

// turns is I3: one final turn for each input, none for commands and answers; and its last word goes out as it was said.
func (r *harness) turns(b records, sum *counts) (broken []string) {
	sum.turns = int(b.number("SELECT count(*) FROM turns"))
	for _, rule := range [][2]string{
		{"I3 a turn has not ended", "SELECT id, state, why FROM turns WHERE ended = 0"},
		{"I3 a turn went wrong", "SELECT id, state, why FROM turns WHERE state IN ('failed', 'stopped')"},
		{"I3 an input has no turn", "SELECT seq, kind, reason FROM inbox WHERE kind IN ('message', 'fire') AND state = 'done' AND turn IS NULL AND reason <> 'it answered a question'"},
		{"I3 a command has a turn", "SELECT seq, kind, turn FROM inbox WHERE kind IN ('command', 'answer') AND turn IS NOT NULL"},
		{"I3 an answer answers nothing", "SELECT seq FROM inbox i WHERE reason = 'it answered a question' AND NOT EXISTS (SELECT 1 FROM questions q WHERE q.answered_by = i.seq)"},
		{"I3 an input is in two turns", "SELECT inbox, count(DISTINCT turn) FROM items WHERE inbox IS NOT NULL GROUP BY inbox HAVING count(*) > 1"},
		{"I3 an input is in no transcript", "SELECT seq, turn FROM inbox WHERE turn IS NOT NULL AND NOT EXISTS (SELECT 1 FROM items x WHERE x.inbox = inbox.seq AND x.turn = inbox.turn)"},
		{"I3 a turn's last word is not what went out", `SELECT t.id, t.text, (SELECT o.body FROM outbox o WHERE o.key = 'turn:' || t.id || ':final') FROM turns t
			WHERE t.state = 'done' AND trim(t.text) NOT IN ('', 'HEARTBEAT_OK', 'NO_REPLY') AND t.reply_to <> 'none'
			AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.key = 'turn:' || t.id || ':final' AND o.body = t.text)`},
		// hob's own lines about calls that did not work are around it.
		{"I3 a turn's last word is not its last item", `SELECT t.id, t.text FROM turns t WHERE t.state = 'done' AND t.text <> '' AND instr(t.text,
			(SELECT trim(json_extract(i.parts, '$[0].text')) FROM items i WHERE i.turn = t.id AND i.kind = 'text' ORDER BY i.seq DESC LIMIT 1)) = 0`},
		{"I3 a turn's end was not told once", "SELECT t.id, (SELECT count(*) FROM events e WHERE e.turn = t.id AND e.type = 'turn.finished') AS n FROM turns t WHERE n <> 1"},
		{"I3 a command was not answered once", "SELECT i.seq, (SELECT count(*) FROM events e WHERE e.inbox = i.seq AND e.type = 'command.done') AS n FROM inbox i WHERE i.kind = 'command' AND i.source IN ('cli', 'ntfy', 'telegram', 'matrix', 'slack') AND n <> 1"},
		{"I2 a dead letter was not told of", "SELECT id FROM turns t WHERE state = 'dead' AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.key = 'notice:turn:' || t.id || ':dead')"},
	} {
		broken = append(broken, b.none(rule[0], rule[1])...)
	}
	return append(broken, answered(b)...)
}

// answered finds turns whose last word answers a message that is not theirs.
func answered(b records) (broken []string) {
	for _, row := range b.rows(`SELECT t.id, t.text, (SELECT group_concat(i.parts) FROM items i WHERE i.turn = t.id AND i.kind = 'input') FROM turns t WHERE t.state = 'done' AND t.text LIKE 'answer %'`) {
		if token := tokens.FindString(row[1]); token == "" || !strings.Contains(row[2], token) {
			broken = append(broken, fmt.Sprintf("I3 turn %s answers what it was not asked: %s, asked: %s", row[0], cut(row[1]), cut(row[2])))
		}
	}
	return broken
}

// mark is what a message carries that may have been delivered before.
const mark = "(may be a repeat)"

// delivered is I5 for a channel without keys: nothing is lost, and a crash makes at most one repeat, which says so.
func (r *harness) delivered(b records, sum *counts) (broken []string) {
	copies := map[string][]channelstest.NtfyMessage{}
	var order []string
	for _, m := range r.world.ntfy.Received() {
		if copies[m.Sequence] == nil {
			order = append(order, m.Sequence)
		}
		copies[m.Sequence] = append(copies[m.Sequence], m)
	}
	extra, place := 0, map[string]int{}
	for i, row := range b.rows(`SELECT d.nonce, d.body, d.state, o.state, o.key, o.reason FROM outbox o JOIN deliveries d ON d.outbox = o.id WHERE o.address LIKE 'ntfy:%' ORDER BY o.id, d.part`) {
		nonce, body, part, state, key := row[0], row[1], row[2], row[3], row[4]
		place[nonce] = i + 1
		list := copies[nonce]
		extra += max(len(list)-1, 0)
		switch {
		case state == "held":
			sum.held++
		case state == "cancelled" && strings.Contains(row[5], "digest"):
		case state != "done" || part != "sent":
			broken = append(broken, fmt.Sprintf("I5 %s ended as %s, its part as %s: %s", key, state, part, row[5]))
		case len(list) == 0:
			sum.lost++
			broken = append(broken, fmt.Sprintf("I5 %s counts as sent and never arrived: %s", key, cut(body)))
		}
		broken = append(broken, repeats(list, key, body, sum)...)
	}
	if extra > r.crashes {
		broken = append(broken, fmt.Sprintf("I5 %d repeats with %d crashes", extra, r.crashes))
	}
	broken = append(broken, ordered(order, place)...)
	return append(broken, b.none("I5 a message was never cut into parts", "SELECT o.id, o.key, o.state FROM outbox o WHERE o.state = 'done' AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = o.id)")...)
}

// words are those of a text, whatever stands between them.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// repeats looks at all copies of one part that arrived.
func repeats(list []channelstest.NtfyMessage, key, body string, sum *counts) (broken []string) {
	for i, m := range list {
		marked := strings.HasSuffix(m.Message, mark)
		if marked {
			sum.marked++
		}
		if i > 0 && !marked {
			sum.doubled++
			broken = append(broken, fmt.Sprintf("I5 %s arrived again without a mark: %s", key, cut(m.Message)))
		}
		if !strings.HasPrefix(words(m.Message), words(markup.Plain().Render(body).Text)) {
			broken = append(broken, fmt.Sprintf("I5 %s arrived as something else: %s", key, cut(m.Message)))
		}
	}
	return broken
}

// ordered holds the first arrivals against the order of the outbox.
func ordered(order []string, place map[string]int) (broken []string) {
	last := 0
	for _, nonce := range order {
		at := place[nonce]
		if at == 0 {
			broken = append(broken, "I4 something arrived that is not in the outbox: "+nonce)
		} else if at < last {
			broken = append(broken, fmt.Sprintf("I5 out of order: delivery %d arrived after delivery %d", at, last))
		}
		last = max(last, at)
	}
	return broken
}

// spoken is I5 for the local API: each text is there once, in one event.
func (r *harness) spoken(b records) []string {
	return append(
		b.none("I5 a text for the local API is not in the events once", `SELECT o.id, o.key, (SELECT count(*) FROM events e WHERE e.type = 'message.sent'
			AND json_extract(e.data, '$.outbox') = o.id AND json_extract(e.data, '$.text') = o.body) AS n FROM outbox o WHERE o.address LIKE 'cli:%' AND n <> 1`),
		b.none("I5 a text for the local API is not done", "SELECT id, key, state FROM outbox WHERE address LIKE 'cli:%' AND state <> 'done'")...)
}

// written is what commands have written, a line each: into one file, or into one of their own.
func (r *harness) written() (lines []string, err error) {
	workspace := filepath.Join(r.home, "workspace")
	files, err := filepath.Glob(filepath.Join(workspace, "*.once"))
	if err != nil {
		return nil, err
	}
	for _, file := range append(files, filepath.Join(workspace, "once.txt")) {
		raw, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		lines = append(lines, strings.Fields(string(raw))...)
	}
	return lines, nil
}

// effects is I6: what a tool does once is done once, and what it says it did is there.
func (r *harness) effects(b records, sum *counts) (broken []string) {
	lines := map[string]int{}
	said, err := r.written()
	if err != nil {
		return []string{err.Error()}
	}
	for _, line := range said {
		lines[line]++
		if lines[line] == 2 {
			sum.doubled++
			broken = append(broken, "I6 a command ran twice: "+line)
		}
	}
	for _, row := range b.rows(`SELECT c.tool, json_extract(c.args, '$.command'), json_extract(c.args, '$.content'), json_extract(c.args, '$.name'), c.call_id, json_extract(c.args, '$.background'),
		json_extract(x.parts, '$[0].text') NOT LIKE 'exit code 0 %' FROM items c JOIN items x ON x.call_id = c.call_id AND x.kind = 'result' WHERE c.kind = 'call' AND x.is_error = 0`) {
		tool, command, content, name, id, background, failed := row[0], row[1], row[2], row[3], row[4], row[5], row[6] == "1"
		token := tokens.FindString(command + content + name)
		if strings.Contains(command, token+".b ") {
			token += ".b"
		}
		lost := false
		switch tool {
		case "exec":
			// Of one in the background the result says only that it began. One may fail: its file is hidden once it counts as foreign, as all files do that
			// changed while a command ran that sees foreign files and that a kill cut off.
			lost = lines[token] != 1 && background != "1" && !failed
		case "write":
			got, err := os.ReadFile(filepath.Join(r.home, "workspace", "f", content))
			lost = err != nil || string(got) != content
		case "cron":
			lost = b.number("SELECT count(*) FROM triggers WHERE name = ? AND removed = 0", name) != 1
		case "message":
			lost = b.number("SELECT count(*) FROM outbox WHERE key = ? AND body = ?", id, content) != 1
		}
		if lost {
			sum.lost++
			broken = append(broken, fmt.Sprintf("I6 %s %s (%s) says that it worked, and it did not", tool, id, token))
		}
	}
	return append(broken, b.none("I6 a step that runs once ran in two epochs, or is open", "SELECT turn, n, state FROM steps WHERE state IN ('allowed', 'asked', 'intent', 'parked')")...)
}

// schedule is the promise of a job: every slot is a row, and every row has ended. Each second has a slot.
func (r *harness) schedule(b records) []string {
	broken := b.none("a slot has not ended", "SELECT f.id, f.key, f.state FROM fires f WHERE f.state <> 'done'")
	broken = append(broken, b.none("a slot went wrong", "SELECT f.id, f.key, f.outcome, f.reason FROM fires f WHERE f.outcome NOT IN ('ran', 'coalesced') AND NOT (f.outcome = 'skipped' AND f.reason = 'gate: no change') AND NOT (f.outcome = 'missed' AND (f.reason LIKE 'only the newest 10 %' OR f.reason IN ('the job was paused', 'the job was paused before it was served')))")...)
	return append(broken, b.none("a slot has no row", "SELECT trigger, count(*), (max(due) - min(due)) / 1000000 + 1 AS n FROM fires WHERE trigger IN (SELECT id FROM triggers WHERE kind = 'job') GROUP BY trigger HAVING count(*) <> n")...)
}

// spent is I7: what the model server would bill was booked.
func (r *harness) spent(b records) (broken []string) {
	u := r.world.model.Billed()
	billed := int64(u.Input + u.Output)
	booked := b.number("SELECT coalesce(sum(used_tokens + reserved_tokens), 0) FROM spend WHERE scope = 'all'")
	if booked < billed {
		broken = append(broken, fmt.Sprintf("I7 %d tokens are booked, the server's ledger has %d", booked, billed))
	}
	return append(broken, b.none("I7 something is still reserved", "SELECT day, scope, reserved_tokens, reserved_micros FROM spend WHERE reserved_tokens <> 0 OR reserved_micros <> 0")...)
}

// leftovers is I10 and I11: no process and no half-written file is left.
func (r *harness) leftovers(b records) (broken []string) {
	for pid := range children(r.home) {
		broken = append(broken, fmt.Sprintf("I10 process %d outlives hob", pid))
	}
	err := filepath.WalkDir(r.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if strings.HasPrefix(name, ".hob-") || strings.HasSuffix(name, ".part") || strings.HasSuffix(name, ".new") || strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, "-journal") {
			broken = append(broken, "I11 left behind: "+path)
		}
		if filepath.Base(filepath.Dir(path)) == "artifacts" && b.number("SELECT count(*) FROM artifacts WHERE id = ?", name) != 1 {
			broken = append(broken, "I11 an artifact without a row: "+name)
		}
		return nil
	})
	if err != nil {
		broken = append(broken, err.Error())
	}
	for _, row := range b.rows("SELECT id FROM artifacts") {
		if _, err := os.Stat(filepath.Join(r.home, "state", "artifacts", row[0])); err != nil {
			broken = append(broken, "I11 an artifact without its file: "+row[0])
		}
	}
	return broken
}
