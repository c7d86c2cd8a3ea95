package channels

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/daemon/event"
)

// State is what becomes of a delivery.
type State string

// The states that a verdict can name. Sent, Retry and Unknown are about one part; the other three end the whole outbox row.
const (
	Sent    State = "sent"    // arrived
	Retry   State = "ready"   // to be tried again at Verdict.At
	Unknown State = "unknown" // may have arrived; held until the owner says resend or drop
	Dead    State = "dead"    // will never be delivered
	Expired State = "expired" // its time is over
	Joined  State = "joined"  // told of in a digest instead
)

// Look is what looking up an earlier try brought.
type Look int

// What a Finder can say.
const (
	NotLooked Look = iota
	Found          // it has arrived
	Missing        // it has surely not arrived
	Unclear        // it cannot be told
)

// Outcome is what came of a try, or of looking into an earlier one.
type Outcome struct {
	RemoteID    string
	Err         error // of the send, or of the look-up
	Interrupted bool  // the process ended between "sending" and "sent"
	Looked      Look
	Back        bool // receiving began to work again during the try
}

// Verdict says what happens to a delivery. All of it is committed together.
type Verdict struct {
	State    State
	RemoteID string    // Sent: the platform's id, "" when it gave none
	At       time.Time // Retry: not before
	Unsure   int       // Retry, Unknown: how many tries so far may have arrived
	Reason   string    // for every state but Sent: one sentence for lists
	Tell     *Notice   // tell the owner
	Ask      *Ask      // ask the owner: resend or drop
	With     []int64   // Joined: further outbox rows that end in the same commit
	Edited   bool      // Sent: the message that showed a draft shows the part now
	Instead  string    // Retry: the text that goes out in the place of a file that was refused, with the delivery's Nonce
	Anew     bool      // Retry: that message cannot be edited; the part goes out as one of its own, with the delivery's Nonce
}

// Notice is a message of hob itself to the owner. It becomes an outbox row with the cause ByNotice; Key is its unique key.
type Notice struct {
	Key  string
	To   event.Address
	Text string
}

// Ask is a question to the owner about an outbox row, with the answers "resend" and "drop".
// Resend makes its part ready again with Unsure 0: the owner has decided, so it carries no mark.
type Ask struct {
	To   event.Address
	Text string
}

// Backoff between two tries of a delivery. A wait is no longer than shortBackoff or a twentieth of the time since the first try, whichever
// is more: what was away for a minute is found again within seconds.
const (
	firstBackoff = time.Second
	shortBackoff = 15 * time.Second
	longBackoff  = 5 * time.Minute
	awayShare    = 20
)

// How often what may have arrived is sent once more, with a mark, where nothing can confirm it; and the backoff from the second repeat on,
// which quadruples. The platform has answered between each two of these tries, so that an outage of it counts only once.
const (
	maxUnsure     = 8
	maxUnsureFile = 3
	firstDoubt    = 10 * time.Second
	longDoubt     = time.Hour
)

// After decides what happens to a delivery after an outcome. It is pure; repeats is how the channel deals with what may have arrived. own: it is
// meant for the owner, or is itself a question or a notice. About such a message nobody is asked.
func After(d Delivery, o Outcome, repeats Repeats, now time.Time, own bool) Verdict {
	return sooner(after(d, o, repeats, now, own), o, now)
}

func after(d Delivery, o Outcome, repeats Repeats, now time.Time, own bool) Verdict {
	switch {
	case o.Looked == Found:
		return Verdict{State: Sent, RemoteID: o.RemoteID}
	case o.Looked == Missing:
		return orExpired(d, Verdict{State: Retry, At: now, Reason: "had not arrived"}, now)
	case o.Interrupted || o.Looked == Unclear || errors.Is(o.Err, ErrUnknown):
		return afterUnsure(d, o, repeats, now, own)
	case o.Err == nil:
		return Verdict{State: Sent, RemoteID: o.RemoteID}
	case errors.Is(o.Err, ErrPermanent) && d.File != nil:
		return withoutFile(d, o.Err, " could not be sent", now, own)
	case errors.Is(o.Err, ErrPermanent):
		return dead(d, reason(o.Err))
	}
	return retry(d, o.Err, now)
}

// retry is what happens to a delivery that has surely not arrived by its last try.
func retry(d Delivery, err error, now time.Time) Verdict {
	return orExpired(d, Verdict{State: Retry, At: now.Add(wait(d, err, now)), Unsure: d.Unsure, Reason: reason(err)}, now)
}

// sooner shortens the backoff of a try that failed although receiving had begun to work again meanwhile: the outage is over. The platform's
// own RetryAfter stays, and so does the backoff of a message that may have arrived more than once.
func sooner(v Verdict, o Outcome, now time.Time) Verdict {
	_, asked := errors.AsType[*RetryAfter](o.Err)
	if soon := now.Add(firstBackoff); o.Back && v.State == Retry && v.Unsure <= 1 && !asked && v.At.After(soon) {
		v.At = soon
	}
	return v
}

// afterEdit decides what happens to a part whose text was put in the place of a draft. To edit twice does no harm. A message that can never be edited
// (it is too old, or gone) stays as it is: the reader gets the text in a new one, because half an answer is worse than one and a half.
func afterEdit(d Delivery, remoteID string, err error, now time.Time) Verdict {
	switch {
	case err == nil:
		return Verdict{State: Sent, RemoteID: remoteID, Edited: true}
	case errors.Is(err, ErrPermanent):
		return Verdict{State: Retry, At: now, Anew: true, Reason: reason(err)}
	}
	return retry(d, err, now)
}

// afterUnsure decides about a try that may have arrived.
func afterUnsure(d Delivery, o Outcome, repeats Repeats, now time.Time, own bool) Verdict {
	n := d.Unsure
	if o.Interrupted || o.Looked == NotLooked {
		n++ // this very try; a look-up afterwards only asks about those counted before
	}
	again := Verdict{State: Retry, At: now, Unsure: n, Reason: "may have arrived: " + reason(o.Err)}
	if o.Err != nil && o.Looked == NotLooked {
		again.At = now.Add(wait(d, o.Err, now))
		if !o.Interrupted && repeats != ByKey && n > 1 {
			again.At = now.Add(min(firstDoubt<<min(2*(n-2), 2*maxUnsure), longDoubt))
		}
	}
	most := maxUnsure
	if d.File != nil {
		most = maxUnsureFile
	}
	switch lookUp := repeats == ByLook && o.Looked == NotLooked; {
	case lookUp || repeats == ByKey || own && n < most:
		return orExpired(d, again, now)
	case own && d.File != nil:
		return withoutFile(d, o.Err, fmt.Sprintf(" was sent %d times and may have arrived, but no answer came", n), now, own)
	case own:
		return dead(d, fmt.Sprintf("it was sent %d times and may have arrived, but no answer came; hob outbox retry %d sends it once more", n, d.Outbox))
	}
	return Verdict{
		State: Unknown, Unsure: n, Reason: again.Reason,
		Ask: &Ask{Text: fmt.Sprintf("A message to %s may or may not have arrived: %s\nSend it again, or drop it?", d.To, excerptOf(d))},
	}
}

// withoutFile is what becomes of a file that fails for good: it fails alone, and a text in its place says so. Why it is so only the owner reads.
func withoutFile(d Delivery, err error, what string, now time.Time, own bool) Verdict {
	why := reason(err)
	if _, rest, ok := strings.Cut(why, ErrPermanent.Error()+": "); ok {
		why = rest
	}
	why = ": " + strings.TrimSuffix(why, ": "+ErrPermanent.Error())
	v := Verdict{State: Retry, At: now, Reason: reason(err), Instead: d.File.Name + what}
	if own {
		v.Instead += why
		return v
	}
	v.Tell = &Notice{Key: fmt.Sprintf("outbox:%d:file:%d", d.Outbox, d.Part), Text: fmt.Sprintf("A file to %s is left out: %s%s%s", d.To, d.File.Name, what, why)}
	return v
}

// orExpired is the retry v, cut to the delivery's expiry, or the end when that has come.
func orExpired(d Delivery, v Verdict, now time.Time) Verdict {
	if d.NotAfter.IsZero() {
		return v
	}
	if !now.Before(d.NotAfter) {
		d.Unsure = v.Unsure
		return expired(d, v.Reason)
	}
	if v.At.After(d.NotAfter) {
		v.At = d.NotAfter
	}
	return v
}

// dead ends a row that can never be delivered.
func dead(d Delivery, why string) Verdict {
	return Verdict{State: Dead, Reason: why, Tell: notice(d, "dead", fmt.Sprintf("A message to %s could not be delivered: %s", d.To, why))}
}

// expired ends a row whose time is over.
func expired(d Delivery, why string) Verdict {
	text := fmt.Sprintf("A message to %s was not delivered in time and is given up", d.To)
	if why != "" {
		text += ": " + why
	}
	if d.Unsure > 0 {
		text += " (an earlier try may have arrived)"
	}
	return Verdict{State: Expired, Reason: why, Unsure: d.Unsure, Tell: notice(d, "expired", text)}
}

func notice(d Delivery, what, text string) *Notice {
	return &Notice{
		Key:  fmt.Sprintf("outbox:%d:%s", d.Outbox, what),
		Text: text + "\nIt says: " + excerptOf(d),
	}
}

// wait is the time until the next try: what the platform asked for, an hour at most, else doubling from 1 s up to what the time since the
// first try allows, of which the upper half is spread by the nonce so that many rows do not come back at one instant.
func wait(d Delivery, err error, now time.Time) time.Duration {
	if later, ok := errors.AsType[*RetryAfter](err); ok && later.After > 0 {
		return min(later.After, longestNap)
	}
	full := longBackoff
	if d.Attempts < 10 {
		full = min(longBackoff, firstBackoff<<max(d.Attempts-1, 0))
	}
	if !d.Tried.IsZero() {
		full = min(full, max(shortBackoff, now.Sub(d.Tried)/awayShare))
	}
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s/%d", d.Nonce, d.Attempts) // a hash never fails
	return full/2 + time.Duration(h.Sum32()%1000)*full/2000
}

func reason(err error) string {
	if err == nil {
		return "hob ended while it was being sent"
	}
	return err.Error()
}

// Excerpt is the beginning of a text on one line, in quotation marks, for notices and lists: at most 120 characters.
func Excerpt(text string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > 120 {
		line = append(line[:119], '…')
	}
	return "“" + string(line) + "”"
}

// Foreign is Excerpt for the words or the name of somebody else in a message of hob's own: none of it becomes a link or a mark there, and nothing in it stays unseen.
func Foreign(text string) string {
	quoted := []rune(Excerpt(text))
	if !slices.ContainsFunc(quoted, active) {
		return string(quoted)
	}
	for i, r := range quoted {
		switch {
		case r == '`':
			quoted[i] = '\''
		case !unicode.IsGraphic(r):
			quoted[i] = unicode.ReplacementChar
		}
	}
	return "“`" + string(quoted[1:len(quoted)-1]) + "`”"
}

// active are characters that may do something in Markdown, or make an address of what stands around them.
func active(r rune) bool {
	switch {
	case r < unicode.MaxASCII:
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ,;'?!+-#", r)
	case unicode.IsSymbol(r), strings.ContainsRune("“”…–—", r):
		return false
	}
	return !unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// Life is how long a message may wait for its delivery when its row names no end:
// seven days for the owner, one hour for others.
func Life(owner bool) time.Duration {
	if owner {
		return 7 * 24 * time.Hour
	}
	return time.Hour
}
