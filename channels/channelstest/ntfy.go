package channelstest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/daemon/sys"
)

// NtfyMessage is a message in the JSON format (https://docs.ntfy.sh/subscribe/api, "JSON message format").
type NtfyMessage struct {
	ID       string   `json:"id"`
	Time     int64    `json:"time"`
	Event    string   `json:"event"`
	Topic    string   `json:"topic"`
	Sequence string   `json:"sequence_id,omitempty"`
	Title    string   `json:"title,omitempty"`
	Message  string   `json:"message,omitempty"`
	Priority int      `json:"priority,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Encoding string   `json:"encoding,omitempty"`

	Attachment *NtfyFile `json:"attachment,omitempty"`
}

// NtfyFile is a published file.
type NtfyFile struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
	Size int    `json:"size,omitempty"`
	URL  string `json:"url"`
	Data string `json:"-"` // for tests
}

// NtfyFault replaces the normal answer to one request.
type NtfyFault struct {
	Status     int    // answer with this status, and an error in the server's words
	RetryAfter string // with Status
	Cut        string // publish: "before" drops the connection before the message is stored, "after" after it
	Body       string // publish: answer 200 with this
	Raw        string // stream: write these bytes, then end the stream
	Silent     bool   // stream: stay silent
}

// Ntfy is a fake ntfy server on a real socket. It stores all messages, and records what was published over
// HTTP.
type Ntfy struct {
	web
	mu        sync.Mutex
	ids       sys.IDs
	cache     []NtfyMessage
	sent      []NtfyMessage
	subs      map[chan NtfyMessage]struct{}
	publish   []NtfyFault
	stream    []NtfyFault
	tokens    map[string]string
	keepalive time.Duration
	forgets   bool
}

// NewNtfy starts a fake on addr, "" for any free port on the loopback interface. Its URL is the address for
// the key server.
func NewNtfy(addr string) (*Ntfy, error) {
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	return NtfyOn(l), nil
}

// NtfyOn is NewNtfy with a listener.
func NtfyOn(l net.Listener) *Ntfy {
	n := &Ntfy{ids: sys.RandomIDs(), keepalive: 45 * time.Second, subs: map[chan NtfyMessage]struct{}{}, tokens: map[string]string{}}
	n.serveOn(l, n.serve)
	return n
}

// Publish publishes a message from somebody. It returns the message's id.
func (n *Ntfy) Publish(topic, text string) string {
	return n.Inject(NtfyMessage{Topic: topic, Message: text})
}

// Inject sends a raw message. Missing fields (id, time, event) are filled in. With a known id, the same
// message is delivered again.
func (n *Ntfy) Inject(m NtfyMessage) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.store(m)
}

// Again delivers an earlier message a second time to subscribers.
func (n *Ntfy) Again(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.cache {
		if m.ID == id {
			n.tell(m)
			return
		}
	}
}

// Received returns what was published over HTTP, in order, including messages whose answer was lost.
func (n *Ntfy) Received() []NtfyMessage {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sent)
}

// Protect allows reading and writing a topic only with the bearer token.
func (n *Ntfy) Protect(topic, token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tokens[topic] = token
}

// FailPublish scripts the next publish requests, one fault each.
func (n *Ntfy) FailPublish(f ...NtfyFault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.publish = append(n.publish, f...)
}

// FailStream scripts the next subscriptions and polls.
func (n *Ntfy) FailStream(f ...NtfyFault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stream = append(n.stream, f...)
}

// Forget empties the cache and disables it, like a server without caching.
func (n *Ntfy) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cache, n.forgets = nil, true
}

// CutStreams ends all open subscriptions.
func (n *Ntfy) CutStreams() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.subs {
		close(c)
		delete(n.subs, c)
	}
}

// Listening returns the number of open subscriptions.
func (n *Ntfy) Listening() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.subs)
}

func (n *Ntfy) store(m NtfyMessage) string {
	if m.ID == "" {
		m.ID = n.ids.Code(12)
	}
	if m.Time == 0 {
		m.Time = time.Now().Unix()
	}
	if m.Event == "" {
		m.Event = "message"
	}
	if !n.forgets {
		n.cache = append(n.cache, m)
	}
	n.tell(m)
	return m.ID
}

func (n *Ntfy) tell(m NtfyMessage) {
	for c := range n.subs {
		select {
		case c <- m:
		default: // a slow reader; the server would drop it too
			close(c)
			delete(n.subs, c)
		}
	}
}

func (n *Ntfy) serve(w http.ResponseWriter, r *http.Request) {
	topics, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if topics == "" {
		refuse(w, http.StatusNotFound, "page not found")
		return
	}
	if !n.known(r.Header.Get("Authorization")) { // checked for every request
		refuse(w, http.StatusUnauthorized, "unauthorized")
		return
	}
	if r.URL.Path == "/v1/health" {
		reply(w, map[string]bool{"healthy": true})
		return
	}
	for _, topic := range strings.Split(topics, ",") {
		if !n.allowed(topic, r.Header.Get("Authorization")) {
			refuse(w, http.StatusForbidden, "forbidden")
			return
		}
	}
	switch {
	case rest == "" && (r.Method == http.MethodPost || r.Method == http.MethodPut):
		n.servePublish(w, r, topics)
	case rest == "json" && r.Method == http.MethodGet:
		n.serveStream(w, r, strings.Split(topics, ","))
	default:
		refuse(w, http.StatusNotFound, "page not found")
	}
}

// known reports whether the request has no token, or a valid one. A server without accounts ignores tokens.
func (n *Ntfy) known(auth string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	token, sent := strings.CutPrefix(auth, "Bearer ")
	return !sent || len(n.tokens) == 0 || slices.Contains(slices.Collect(maps.Values(n.tokens)), token)
}

func (n *Ntfy) allowed(topic, auth string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	token := n.tokens[topic]
	return token == "" || auth == "Bearer "+token
}

func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	reply(w, map[string]any{"code": code * 100, "http": code, "error": text})
}

// reply writes one line of JSON. The reader may be gone.
func reply(w io.Writer, v any) {
	b, err := json.Marshal(v)
	if err == nil {
		_, _ = w.Write(append(b, '\n'))
	}
}

// next returns the next scripted fault.
func (n *Ntfy) next(list *[]NtfyFault) (NtfyFault, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(*list) == 0 {
		return NtfyFault{}, false
	}
	f := (*list)[0]
	*list = (*list)[1:]
	return f, true
}

func (n *Ntfy) servePublish(w http.ResponseWriter, r *http.Request, topic string) {
	m, err := parse(r, topic)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	f, failed := n.next(&n.publish)
	switch {
	case failed && f.Status != 0:
		w.Header().Set("Retry-After", f.RetryAfter)
		refuse(w, f.Status, "scripted")
		return
	case failed && f.Body != "":
		_, _ = io.WriteString(w, f.Body) // the reader may be gone
		return
	case failed && f.Cut == "before":
		hangUp(w)
		return
	}
	n.mu.Lock()
	m.ID = n.ids.Code(12)
	m.Time = time.Now().Unix()
	m.Event = "message"
	n.store(m)
	n.sent = append(n.sent, m)
	n.mu.Unlock()
	if failed && f.Cut == "after" {
		hangUp(w)
		return
	}
	reply(w, m)
}

// parse parses a publish request like the server: it trims the body, decodes headers, and validates the
// priority first.
func parse(r *http.Request, topic string) (NtfyMessage, error) {
	prio := map[string]int{"": 0, "min": 1, "low": 2, "default": 3, "high": 4, "max": 5, "urgent": 5}
	p, ok := prio[r.Header.Get("Priority")]
	if !ok {
		return NtfyMessage{}, fmt.Errorf("invalid request: priority invalid")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		return NtfyMessage{}, fmt.Errorf("read the body: %w", err)
	}
	var file *NtfyFile
	if name := decoded(r, "Filename"); name != "" {
		file = &NtfyFile{Name: name, Type: http.DetectContentType(body), Size: len(body), URL: "http://" + r.Host + "/file/x", Data: string(body)}
		if body = []byte(decoded(r, "Message")); len(body) == 0 {
			body = []byte("You received a file: " + name)
		}
	}
	if len(body) > 4096 {
		return NtfyMessage{}, fmt.Errorf("invalid request: the body would become an attachment")
	}
	m := NtfyMessage{Topic: topic, Title: decoded(r, "Title"), Attachment: file, Message: strings.TrimSpace(string(body)), Priority: p, Sequence: r.Header.Get("X-Sequence-ID")}
	if tags := r.Header.Get("Tags"); tags != "" {
		m.Tags = strings.Split(tags, ",")
	}
	if m.Message == "" {
		m.Message = "triggered"
	}
	return m, nil
}

// decoded decodes a header (RFC 2047).
func decoded(r *http.Request, name string) string {
	text, err := new(mime.WordDecoder).DecodeHeader(r.Header.Get(name))
	if err != nil {
		return r.Header.Get(name)
	}
	return text
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close() // that is the point
	}
}

func (n *Ntfy) serveStream(w http.ResponseWriter, r *http.Request, topics []string) {
	out := http.NewResponseController(w)
	f, failed := n.next(&n.stream)
	if failed && f.Status != 0 {
		w.Header().Set("Retry-After", f.RetryAfter)
		refuse(w, f.Status, "scripted")
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
	if failed && f.Raw != "" {
		_, _ = io.WriteString(w, f.Raw) // the reader may be gone
		_ = out.Flush()
		return
	}
	if failed && f.Silent {
		_ = out.Flush() // the headers
		select {
		case <-r.Context().Done():
		case <-n.quit:
		}
		return
	}
	old, live, leave := n.listen(topics, r.URL.Query())
	defer leave()
	if live != nil {
		reply(w, NtfyMessage{ID: n.ids.Code(12), Time: time.Now().Unix(), Event: "open", Topic: strings.Join(topics, ",")})
	}
	for _, m := range old {
		reply(w, m)
	}
	_ = out.Flush() // the context reports a reader that is gone
	if live != nil {
		n.pass(w, r, topics, live)
	}
}

// pass sends live messages until the reader leaves.
func (n *Ntfy) pass(w http.ResponseWriter, r *http.Request, topics []string, live <-chan NtfyMessage) {
	out := http.NewResponseController(w)
	tick := time.NewTicker(n.keepalive)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-n.quit:
			return
		case <-tick.C:
			reply(w, NtfyMessage{ID: n.ids.Code(12), Time: time.Now().Unix(), Event: "keepalive", Topic: strings.Join(topics, ",")})
		case m, ok := <-live:
			if !ok {
				return
			}
			if slices.Contains(topics, m.Topic) || m.Event != "message" {
				reply(w, m)
			}
		}
		_ = out.Flush() // the context reports a reader that is gone
	}
}

// listen returns the cached messages of a query and, unless it is a poll, subscribes at the same time.
func (n *Ntfy) listen(topics []string, query map[string][]string) (old []NtfyMessage, live chan NtfyMessage, leave func()) {
	get := func(key string) string { return strings.Join(query[key], "") }
	n.mu.Lock()
	defer n.mu.Unlock()
	poll := get("poll") == "1"
	from := n.from(get("since"), poll)
	for i, m := range n.cache {
		if from(i, m) && slices.Contains(topics, m.Topic) {
			old = append(old, m)
		}
	}
	if poll {
		return old, nil, func() {}
	}
	live = make(chan NtfyMessage, 1024)
	n.subs[live] = struct{}{}
	return old, live, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subs, live)
	}
}

// from parses the parameter "since": all, none, a Unix time, a duration or a message id (an unknown id means
// all).
func (n *Ntfy) from(since string, poll bool) func(int, NtfyMessage) bool {
	after := func(t int64) func(int, NtfyMessage) bool {
		return func(_ int, m NtfyMessage) bool { return m.Time >= t }
	}
	if since == "all" || since == "" && poll {
		return after(0)
	}
	if since == "" || since == "none" {
		return func(int, NtfyMessage) bool { return false }
	}
	if t, err := strconv.ParseInt(since, 10, 64); err == nil {
		return after(t)
	}
	if d, err := time.ParseDuration(since); err == nil {
		return after(time.Now().Add(-d).Unix())
	}
	at := slices.IndexFunc(n.cache, func(m NtfyMessage) bool { return m.ID == since })
	return func(i int, _ NtfyMessage) bool { return i > at }
}
