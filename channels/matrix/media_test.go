package matrix_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

// attached returns the received file of a message.
func attached(t *testing.T, f *channelstest.Matrix, id string) channels.Attachment {
	t.Helper()
	f.Room(chat, "", sam)
	return one(t, f, func() { f.Write(chat, sam, obj{"msgtype": "m.file", "body": "x", "url": "mxc://hob.test/" + id}) }).Files[0]
}

// content returns the content of a file.
func content(t *testing.T, a channels.Attachment) (string, error) {
	t.Helper()
	body, err := a.Open(t.Context())
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(body)
	if cerr := body.Close(); cerr != nil {
		t.Error(cerr)
	}
	return string(data), err
}

// store is a file server other than the homeserver.
type store struct {
	*httptest.Server
	asked  atomic.Int32
	tokens atomic.Int32 // how often hob has told it who it is
}

func newStore(t *testing.T) *store {
	s := &store{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		if r.Header.Get("Authorization") != "" || strings.Contains(r.URL.String(), token) {
			s.tokens.Add(1)
		}
		switch r.URL.Path {
		case "/file":
			_, _ = io.WriteString(w, "kept elsewhere") // a reader that has gone is no trouble here
		case "/on":
			http.Redirect(w, r, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)+"/file", http.StatusFound)
		case "/endless":
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 1<<20))
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestFilesThatAreElsewhere(t *testing.T) {
	const same = "/_matrix/client/v1/media/download/hob.test/"
	here := func(status int, to string) channelstest.MatrixFault {
		return channelstest.MatrixFault{Status: status, Location: to}
	}
	for _, tc := range []struct {
		name   string
		faults []channelstest.MatrixFault // STORE stands for the other server
		want   string
		why    string // of the error; "": there is none
		here   int    // how often the homeserver is asked
		there  int    // how often the other one
	}{
		{"for now", []channelstest.MatrixFault{here(307, "STORE/file?sig=key")}, "kept elsewhere", "", 1, 1},
		{"for good", []channelstest.MatrixFault{here(308, "STORE/file")}, "kept elsewhere", "", 1, 1},
		{"moved on from there", []channelstest.MatrixFault{here(307, "STORE/on")}, "kept elsewhere", "", 1, 2},
		{"at another place here", []channelstest.MatrixFault{here(307, same+"other")}, "kept here", "", 2, 0},
		{"here, by the path alone", []channelstest.MatrixFault{here(308, "other")}, "kept here", "", 2, 0},
		{"here, and then there", []channelstest.MatrixFault{here(307, "other"), here(307, "STORE/file")}, "kept elsewhere", "", 2, 1},
		{"not there", []channelstest.MatrixFault{here(307, "STORE/gone?sig=key")}, "", "says 404", 1, 1},
		{"more than hob keeps", []channelstest.MatrixFault{here(307, "STORE/endless")}, "", "too large", 1, 1},
		{"without end", []channelstest.MatrixFault{here(307, "f1"), here(307, "f1"), here(307, "f1"), here(307, "f1"), here(307, "f1"), here(307, "f1")}, "", "again and again", 5, 0},
		{"nowhere", []channelstest.MatrixFault{here(307, "")}, "", "says 307", 1, 0},
		{"in a file of this machine", []channelstest.MatrixFault{here(307, "file:///etc/passwd")}, "", "http", 1, 0},
		{"where machines keep their keys", []channelstest.MatrixFault{here(307, "http://169.254.169.254/latest?sig=key")}, "", "not in the public internet", 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, s := server(t), newStore(t)
			f.File("other", []byte("kept here"))
			for i := range tc.faults {
				tc.faults[i].Location = strings.Replace(tc.faults[i].Location, "STORE", s.URL, 1)
			}
			a := attached(t, f, "f1")
			f.Fail("download", tc.faults...)
			got, err := content(t, a)
			if got != tc.want || (err == nil) != (tc.why == "") || err != nil && (!strings.Contains(err.Error(), tc.why) || strings.Contains(err.Error(), "sig=key")) {
				t.Errorf("read %.40q, %v; want %q, %q", got, err, tc.want, tc.why)
			}
			if f.Calls("download") != tc.here || int(s.asked.Load()) != tc.there || s.tokens.Load() != 0 {
				t.Errorf("asked here %d times, want %d; elsewhere %d, want %d; told the token %d times", f.Calls("download"), tc.here, s.asked.Load(), tc.there, s.tokens.Load())
			}
		})
	}
}

// TestFilesOfAnOldHomeserver reads files from a server before v1.11. A current server is not asked in the old
// way.
func TestFilesOfAnOldHomeserver(t *testing.T) {
	for _, tc := range []struct {
		name, id string
		old      bool
		want     string
		legacy   int
	}{
		{"old", "f1", true, "data", 1},
		{"old, and it has no such file", "gone", true, "", 1},
		{"of today", "f1", false, "data", 0},
		{"of today, and it has no such file", "gone", false, "", 0},
	} {
		f := server(t)
		f.File("f1", []byte("data"))
		if tc.old {
			f.Age()
		}
		got, err := content(t, attached(t, f, tc.id))
		if got != tc.want || (err == nil) != (tc.want != "") || f.Calls("media") != tc.legacy {
			t.Errorf("%s: read %q, %v; asked the old way %d times", tc.name, got, err, f.Calls("media"))
		}
	}
	f, s := server(t), newStore(t)
	f.Age()
	a := attached(t, f, "f1")
	f.Fail("media", channelstest.MatrixFault{Status: 307, Location: s.URL + "/file"})
	if got, err := content(t, a); got != "kept elsewhere" || err != nil || s.tokens.Load() != 0 {
		t.Errorf("old, and elsewhere: read %q, %v", got, err)
	}
}
