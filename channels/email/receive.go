package email

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"

	"hob/channels"
	"hob/channels/poll"
	"hob/daemon/mail"
)

// How hob waits for new mail. IDLE is renewed often, so that a dead connection is found within a minute. That
// is far below the half hour after which servers disconnect (RFC 2177). Servers without IDLE are polled.
const (
	idleTime = 45 * time.Second
	askEvery = 15 * time.Second
)

// Limits of fetching.
const (
	batch       = 50       // mails of one fetch
	maxMail     = 25 << 20 // bytes; of a larger mail, and of a stranger's, only the beginning is read
	beginning   = 64 << 10 // bytes that are read first
	commitAfter = 8 << 20  // bytes of files after which the mails read so far are committed
)

// position is how far a folder was read.
type position struct {
	Validity uint32   `json:"validity"`      // UIDVALIDITY: if it changes, the UIDs name other mails (RFC 3501, section 2.3.1.1)
	UID      imap.UID `json:"uid"`           // the last mail that was read; 0: none
	Heard    int64    `json:"heard"`         // when the server last answered, in Unix seconds of hob's clock
	Had      []string `json:"had,omitempty"` // hashes of the last mails from people whom hob listens to
}

// maxHad is how many mails are recognised if they arrive again. An attacker
// with a copy of a signed mail could change its unsigned headers and send it again as a new message.
const maxHad = 500

// has reports whether a mail was read before, and remembers it.
func (p *position) has(l header) bool {
	// Ids are hashed, because they can be long and the position is stored often.
	sum := sha256.Sum256([]byte(l.id))
	key := hex.EncodeToString(sum[:8])
	if slices.Contains(p.Had, key) {
		return true
	}
	p.Had = append(slices.Clone(p.Had[max(0, len(p.Had)-maxHad+1):]), key)
	return false
}

// reader is the state of one Run.
type reader struct {
	channel *Channel
	conn    *imapConn
	source  *poll.Source[position]
}

// Run reads new mail until ctx ends. It returns an error if the server cannot be reached or refuses, or if
// the inbox cannot commit. Mails that were not committed are read again in the next Run.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	return poll.Run(ctx, nil, func(ctx context.Context) error { return c.receive(ctx, in) }, nil)
}

// receive reads new mail over one IMAP connection, and waits for more.
func (c *Channel) receive(ctx context.Context, in channels.Inbox) error {
	b, err := c.openIMAP(ctx)
	if err != nil {
		return err
	}
	defer b.end()
	r := &reader{channel: c, conn: b}
	folder, err := b.examine(c.cfg.Folder)
	if err != nil {
		return err
	}
	if err := r.begin(ctx, in, folder); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := r.round(ctx); err != nil {
			return err
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// identity ties the cursor to the account and the folder.
func (c *Config) identity() string { return c.User + " " + c.IMAP + " " + c.Folder }

// begin finds the UID to continue at. Mails from before the first start are never read. If the server has
// renumbered the folder, new mails cannot be told from old ones, so the period is reported as a gap.
func (r *reader) begin(ctx context.Context, in channels.Inbox, folder *imap.SelectData) (err error) {
	who := poll.Account{Channel: r.channel.name, Identity: r.channel.cfg.identity(), Log: r.channel.log}
	if r.source, err = poll.Open(ctx, in, who, func(p position) time.Time { return time.Unix(p.Heard, 0) }); err != nil {
		return err
	}
	// Without UIDNEXT hob could not tell old mails from new ones.
	if folder.UIDNext == 0 {
		return fmt.Errorf("the server does not say UIDNEXT of the folder %s", r.channel.cfg.Folder)
	}
	now := r.channel.clock.Wall()
	next := position{Validity: folder.UIDValidity, UID: folder.UIDNext - 1, Heard: now.Unix(), Had: r.source.Pos.Had}
	if r.source.Resumed && r.source.Pos.Validity == next.Validity && r.source.Pos.UID <= next.UID {
		return nil
	}
	if r.source.Resumed {
		why := fmt.Sprintf("the mail server has renumbered the mails of %s, so that hob cannot know which of them it has read", r.channel.cfg.Folder)
		if err := r.source.Gap(ctx, time.Unix(r.source.Pos.Heard, 0), now, why); err != nil {
			return err
		}
	}
	return r.source.Commit(ctx, nil, next)
}

// round reads all new mails.
func (r *reader) round(ctx context.Context) error {
	var found *imap.SearchData
	err := r.conn.within(fetchTime, func() (err error) {
		found, err = r.conn.Client.UIDSearch(&imap.SearchCriteria{UID: []imap.UIDSet{{imap.UIDRange{Start: r.source.Pos.UID + 1}}}}, nil).Wait()
		return err
	})
	if err != nil {
		return fmt.Errorf("look for new mail: %w", err)
	}
	uids := slices.DeleteFunc(found.AllUIDs(), func(u imap.UID) bool { return u <= r.source.Pos.UID }) // "n:*" always includes the last mail (RFC 3501, section 6.4.8)
	slices.Sort(uids)
	// Batches limit the memory, and what a crash repeats.
	for some := range slices.Chunk(uids, batch) {
		if err := r.take(ctx, some); err != nil {
			return err
		}
	}
	now := r.channel.clock.Wall().Unix()
	if !r.source.Due(time.Unix(now, 0)) {
		r.source.Pos.Heard = now
		return nil
	}
	// The quiet connection is stored from time to time: it limits the gap after a crash.
	next := r.source.Pos
	next.Heard = now
	return r.source.Commit(ctx, nil, next)
}

// take reads some mails and commits them with the position after them: first the headers, then the beginnings
// of mails that matter, then the rest. Large files are committed early, because they are in memory.
func (r *reader) take(ctx context.Context, uids []imap.UID) error {
	// First only the headers: most mail in a shared folder is not for hob.
	heads, err := r.fetch(uids, &imap.FetchItemBodySection{Specifier: imap.PartSpecifierHeader, Peek: true, Partial: &imap.SectionPartial{Size: mail.MaxHead}})
	if err != nil {
		return err
	}
	mails := make([]arrival, 0, len(uids))
	var some []imap.UID
	for _, uid := range uids {
		a := r.arrival(uid, heads[uid])
		if mails = append(mails, a); a.wanted {
			some = append(some, uid)
		}
	}
	// The beginning of a mail contains its text; the whole is fetched only if it is larger and from a known
	// sender.
	bodies, err := r.fetch(some, &imap.FetchItemBodySection{Peek: true, Partial: &imap.SectionPartial{Size: beginning}})
	if err != nil {
		return err
	}
	next := r.source.Pos
	next.Heard = r.channel.clock.Wall().Unix()
	var list []channels.Message
	size := 0
	for _, a := range mails {
		next.UID = a.uid
		// A copy of an earlier mail is skipped, but the position moves past it.
		if a.wanted && a.known && next.has(a.header) {
			r.channel.log.Debug("a mail that was read before is skipped", "channel", r.channel.name, "uid", a.uid)
			continue
		}
		m, err := r.complete(a, bodies[a.uid].raw)
		if err != nil {
			return err
		}
		if m.ID != "" {
			list = append(list, m)
		}
		for _, f := range m.Files {
			size += int(f.Size)
		}
		if size < commitAfter {
			continue
		}
		if err := r.source.Commit(ctx, list, next); err != nil {
			return err
		}
		list, size = nil, 0
	}
	return r.source.Commit(ctx, list, next)
}

// arrival is a mail whose header was read.
type arrival struct {
	uid    imap.UID
	size   int64 // bytes of the whole mail
	header header
	m      channels.Message // without an ID: the mail is gone or unreadable
	wanted bool             // its content matters: to a person whom hob listens to, or to a pairing
	known  bool             // from a person whom hob listens to
}

// arrival converts a header. The content of mail that is unverified, automatic, or from hob itself is not
// read.
func (r *reader) arrival(uid imap.UID, head fetched) arrival {
	a := arrival{uid: uid, size: head.size}
	if head.uid == 0 {
		return a
	}
	l, err := r.channel.readHeader(head.raw, fmt.Sprintf("uid:%d:%d", r.source.Pos.Validity, uid))
	if err != nil {
		r.channel.log.Warn("mail skipped", "channel", r.channel.name, "uid", uid, "err", err)
		return a
	}
	a.header, a.m, a.known = l, r.channel.message(l), r.channel.listens(l.from)
	a.m.At = head.at
	// A mail of a stranger may still be a pairing code, so verification is enough here.
	a.wanted = l.verified && !l.auto && !a.m.From.Self
	// The owner may have forgotten trust_results, or somebody forges a known address.
	if a.known && !l.verified && !l.auto {
		r.channel.log.Warn("a mail in the name of a known sender is not verified (trust_results)", "channel", r.channel.name, "from", l.from)
	}
	return a
}

// complete adds the content of a mail. begins is its beginning, or all of it.
func (r *reader) complete(a arrival, begins []byte) (channels.Message, error) {
	m := a.m
	if !a.wanted {
		return m, nil
	}
	raw, cut := begins, a.known && a.size > maxMail
	if a.known && a.size > beginning && !cut {
		whole, err := r.fetch([]imap.UID{a.uid}, &imap.FetchItemBodySection{Peek: true, Partial: &imap.SectionPartial{Size: maxMail}})
		if err != nil {
			return m, err
		}
		raw = whole[a.uid].raw
	}
	fill(&m, a.header, mail.Read(raw), a.known)
	if cut {
		m.Files = nil // they are incomplete too
		m.Text += fmt.Sprintf("\n\n[the rest of this mail was not kept: it has %d MB]", a.size>>20)
	}
	return m, nil
}

// fill adds the text and files to a message. The subject is added at the beginning of a thread, unless the
// mail is a command or a code.
func fill(m *channels.Message, l header, b mail.Body, known bool) {
	text, quotes := mail.OwnText(b.Text, l.forwarded)
	m.Forwarded = m.Forwarded || quotes
	for _, f := range b.Files {
		m.Files = append(m.Files, attachment(f))
	}
	if len(text) > mail.MaxText {
		text = strings.ToValidUTF8(text[:mail.MaxText], "")
	}
	switch {
	case !known: // a stranger's mail can only be a code, which is its first line
		first, _, _ := strings.Cut(text, "\n")
		if m.Text = strings.TrimSpace(first); m.Text == "" {
			m.Text = l.subject
		}
		m.Files = nil
	case text == "":
		m.Text = l.subject
	case l.subject == "" || l.inReplyTo != "" || strings.HasPrefix(text, "/") || regexp.MustCompile(`^[A-Z0-9]{4}-?[A-Z0-9]{4}$`).MatchString(text):
		m.Text = text
	default:
		m.Text = "Subject: " + l.subject + "\n\n" + text
	}
}

// attachment converts a file of a mail.
func attachment(f mail.File) channels.Attachment {
	return channels.Attachment{Name: f.Name, MIME: f.MIME, Size: int64(len(f.Data)), Open: func(context.Context) (io.ReadCloser, error) {
		if f.Err != nil {
			return nil, f.Err
		}
		return io.NopCloser(bytes.NewReader(f.Data)), nil
	}}
}

// fetched is a section of a mail.
type fetched struct {
	uid  imap.UID
	size int64 // bytes of the whole mail
	at   time.Time
	raw  []byte
}

// fetch fetches a section of some mails, without marking them as read (BODY.PEEK).
func (r *reader) fetch(uids []imap.UID, piece *imap.FetchItemBodySection) (map[imap.UID]fetched, error) {
	all := map[imap.UID]fetched{}
	if len(uids) == 0 {
		return all, nil
	}
	err := r.conn.within(fetchTime, func() error {
		list, err := r.conn.Client.Fetch(imap.UIDSetNum(uids...), &imap.FetchOptions{UID: true, RFC822Size: true, InternalDate: true, BodySection: []*imap.FetchItemBodySection{piece}}).Collect()
		for _, m := range list {
			all[m.UID] = fetched{uid: m.UID, size: m.RFC822Size, at: m.InternalDate, raw: m.FindBodySection(piece)}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fetch %d mails: %w", len(uids), err)
	}
	return all, nil
}

// latest fetches the header of the newest mail, by its sequence number.
func (b *imapConn) latest(number uint32) (head []byte, err error) {
	piece := &imap.FetchItemBodySection{Specifier: imap.PartSpecifierHeader, Peek: true, Partial: &imap.SectionPartial{Size: mail.MaxHead}}
	err = b.within(fetchTime, func() error {
		list, err := b.Fetch(imap.SeqSetNum(number), &imap.FetchOptions{BodySection: []*imap.FetchItemBodySection{piece}}).Collect()
		for _, m := range list {
			head = m.FindBodySection(piece)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fetch the latest mail: %w", err)
	}
	return head, nil
}

// wait waits until the server announces something, or until the connection must be checked.
func (r *reader) wait(ctx context.Context) error {
	if !r.conn.Client.Caps().Has(imap.CapIdle) {
		r.rest(ctx, askEvery)
		return r.shortCommand(func() error { return r.conn.Client.Noop().Wait() })
	}
	var leave func() error
	err := r.shortCommand(func() error {
		idle, err := r.conn.Client.Idle()
		if err != nil {
			return err
		}
		leave = func() error {
			if err := idle.Close(); err != nil {
				return err
			}
			return idle.Wait()
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.rest(ctx, idleTime)
	return r.shortCommand(leave)
}

// shortCommand runs a short command, and names what failed.
func (r *reader) shortCommand(do func() error) error {
	if err := r.conn.within(answerTime, do); err != nil {
		return fmt.Errorf("wait for mail: %w", err)
	}
	return nil
}

// rest waits for d, or until there is something to do.
func (r *reader) rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-r.conn.Client.Closed():
	case <-r.conn.announced:
	case <-timer.C:
	}
}
