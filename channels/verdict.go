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

// State is the state of a delivery after a verdict.
type State string

// The states that a verdict can set. Sent, Retry and Unknown apply to one part; the others end the whole
// outbox row.
const (
	Sent    State = "sent"    // arrived
	Retry   State = "ready"   // try again at Verdict.At
	Unknown State = "unknown" // may have arrived; held until the owner says resend or drop
	Dead    State = "dead"    // will never be delivered
	Expired State = "expired" // expired before it was delivered
	Joined  State = "joined"  // listed in a digest instead
)

// LookUp is the result of looking up an earlier try.
type LookUp int

// Results of a look-up.
const (
	NotLooked LookUp = iota
	Found            // it arrived
	Missing          // it surely did not arrive
	Unclear          // the platform cannot tell
)

// TryResult is the result of a try, or of looking up an earlier one.
type TryResult struct {
	RemoteID    string
	Err         error // of the send or the look-up
	Interrupted bool  // the process ended between "sending" and "sent"
	Looked      LookUp
	Recovered   bool // receiving recovered during the try
}

// Verdict is the decision about a delivery. All of it is committed together.
type Verdict struct {
	State      State
	RemoteID   string    // Sent: the platform's id, "" if it gave none
	At         time.Time // Retry: earliest time
	Unsure     int       // Retry, Unknown: tries so far that may have arrived
	Reason     string    // for every state but Sent: one sentence for lists
	Tell       *Notice   // tell the owner
	Ask        *Ask      // ask the owner: resend or drop
	With       []int64   // Joined: further outbox rows that end in the same commit
	Edited     bool      // Sent: the message of the draft shows the part now
	Instead    string    // Retry: the text to send in place of a refused file, with the delivery's Nonce
	NewMessage bool      // Retry: the draft cannot be edited; send the part as a new message, with the delivery's Nonce
}

// Notice is a message of hob to the owner. It becomes an outbox row with the cause ByNotice; Key makes it
// unique.
type Notice struct {
	Key  string
	To   event.Address
	Text string
}

// Ask is a question to the owner about an outbox row, with the answers "resend" and "drop". Resend makes its
// part ready again with Unsure 0: the owner has decided, so that it carries no mark.
type Ask struct {
	To   event.Address
	Text string
}

// Backoff between two tries of a delivery. A wait is at most shortBackoff or a twentieth of the time since
// the first try, whichever is longer: after an outage of a minute, delivery continues within seconds.
const (
	firstBackoff = time.Second
	shortBackoff = 20 * time.Second
	longBackoff  = 5 * time.Minute
	awayShare    = 20 // the twentieth
)

// Limits for repeats that may add copies, where nothing can confirm an earlier try. The backoff starts with
// the second repeat and quadruples. Between two of these tries the platform has answered, so that one outage
// counts only once.
const (
	maxUnsure     = 8 // tries of a text
	maxUnsureFile = 3 // tries of a file
	firstDoubt    = 10 * time.Second
	longDoubt     = time.Hour
)

// After decides what happens to a delivery after an outcome. It is pure. repeats is how the channel deals
// with possible repeats. forOwner: the message is for the owner, or is itself a question or a notice; no question
// is asked about it.
func After(d Delivery, o TryResult, repeats Repeats, now time.Time, forOwner bool) Verdict {
	return shortenBackoff(after(d, o, repeats, now, forOwner), o, now)
}

// after is After without the shortened backoff.
func after(d Delivery, o TryResult, repeats Repeats, now time.Time, forOwner bool) Verdict {
	switch {
	case o.Looked == Found:
		return Verdict{State: Sent, RemoteID: o.RemoteID}
	case o.Looked == Missing:
		return orExpired(d, Verdict{State: Retry, At: now, Reason: "had not arrived"}, now)
	case o.Interrupted || o.Looked == Unclear || errors.Is(o.Err, ErrUnknown):
		return afterUnsure(d, o, repeats, now, forOwner)
	case o.Err == nil:
		return Verdict{State: Sent, RemoteID: o.RemoteID}
	case errors.Is(o.Err, ErrPermanent) && d.File != nil:
		return withoutFile(d, o.Err, " could not be sent", now, forOwner)
	case errors.Is(o.Err, ErrPermanent):
		return dead(d, reason(o.Err))
	}
	return retry(d, o.Err, now)
}

// retry returns the verdict for a delivery whose last try surely did not arrive.
func retry(d Delivery, err error, now time.Time) Verdict {
	return orExpired(d, Verdict{State: Retry, At: now.Add(wait(d, err, now)), Unsure: d.Unsure, Reason: reason(err)}, now)
}

// shortenBackoff shortens the backoff of a failed try if receiving recovered meanwhile: the outage is over. It does
// not shorten the platform's own RetryAfter, nor the backoff of a message that may have arrived more than
// once.
func shortenBackoff(v Verdict, o TryResult, now time.Time) Verdict {
	_, asked := errors.AsType[*RetryAfter](o.Err)
	if soon := now.Add(firstBackoff); o.Recovered && v.State == Retry && v.Unsure <= 1 && !asked && v.At.After(soon) {
		v.At = soon
	}
	return v
}

// afterEdit decides about a part whose text was put in place of a draft. Repeating an edit does no harm. If
// the message can never be edited (it is too old, or deleted), the reader gets the text in a new message:
// half an answer is worse than a repeated beginning.
func afterEdit(d Delivery, remoteID string, err error, now time.Time) Verdict {
	switch {
	case err == nil:
		return Verdict{State: Sent, RemoteID: remoteID, Edited: true}
	case errors.Is(err, ErrPermanent):
		return Verdict{State: Retry, At: now, NewMessage: true, Reason: reason(err)}
	}
	return retry(d, err, now)
}

// afterUnsure decides about a try that may have arrived.
func afterUnsure(d Delivery, o TryResult, repeats Repeats, now time.Time, forOwner bool) Verdict {
	n := d.Unsure
	if o.Interrupted || o.Looked == NotLooked {
		n++ // this try; a look-up only asks about earlier ones
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
	// The owner gets repeats with a mark. For anybody else the owner decides, because a repeat may do harm
	// there.
	switch lookUp := repeats == ByLook && o.Looked == NotLooked; {
	case lookUp || repeats == ByKey || forOwner && n < most:
		return orExpired(d, again, now)
	case forOwner && d.File != nil:
		return withoutFile(d, o.Err, fmt.Sprintf(" was sent %d times and may have arrived, but no answer came", n), now, forOwner)
	case forOwner:
		return dead(d, fmt.Sprintf("it was sent %d times and may have arrived, but no answer came; hob outbox retry %d sends it once more", n, d.Outbox))
	}
	return Verdict{
		State: Unknown, Unsure: n, Reason: again.Reason,
		Ask: &Ask{Text: fmt.Sprintf("A message to %s may or may not have arrived: %s\nSend it again, or drop it?", d.To, excerptOf(d))},
	}
}

// withoutFile replaces a file that was refused for good by a text that says so; the other parts are not
// affected. Only the owner sees the reason.
func withoutFile(d Delivery, err error, what string, now time.Time, forOwner bool) Verdict {
	why := reason(err)
	if _, rest, ok := strings.Cut(why, ErrPermanent.Error()+": "); ok {
		why = rest
	}
	why = ": " + strings.TrimSuffix(why, ": "+ErrPermanent.Error())
	v := Verdict{State: Retry, At: now, Reason: reason(err), Instead: d.File.Name + what}
	if forOwner {
		v.Instead += why
		return v
	}
	v.Tell = &Notice{Key: fmt.Sprintf("outbox:%d:file:%d", d.Outbox, d.Part), Text: fmt.Sprintf("A file to %s is left out: %s%s%s", d.To, d.File.Name, what, why)}
	return v
}

// orExpired limits the retry v to the delivery's expiry, or ends the row if that has passed.
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

// expired ends a row that was not delivered in time.
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

// wait returns the time until the next try. A RetryAfter of the platform counts up to an hour. Otherwise the
// wait doubles from 1 s, limited by the time since the first try. Its upper half is jitter from a hash of the
// nonce, so that many rows do not return at one instant.
func wait(d Delivery, err error, now time.Time) time.Duration {
	if later, ok := errors.AsType[*RetryAfter](err); ok && later.After > 0 {
		return min(later.After, longestWait)
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

// Excerpt returns the beginning of a text on one line in quotation marks, at most 120 characters, for notices
// and lists.
func Excerpt(text string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > 120 {
		line = append(line[:119], '…')
	}
	return "“" + string(line) + "”"
}

// ForeignExcerpt is Excerpt for somebody else's words or name in a message of hob: nothing in it becomes a link or a
// mark, and nothing in it is invisible.
func ForeignExcerpt(text string) string {
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

// active reports whether a character may have a meaning in Markdown or form an address with the characters
// around it.
func active(r rune) bool {
	switch {
	case r < unicode.MaxASCII:
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ,;'?!+-#", r)
	case unicode.IsSymbol(r), strings.ContainsRune("“”…–—", r):
		return false
	}
	return !unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// Life is how long a message may wait for delivery if its row sets no expiry: seven days for the owner, one
// hour for others.
func Life(owner bool) time.Duration {
	if owner {
		return 7 * 24 * time.Hour
	}
	return time.Hour
}
