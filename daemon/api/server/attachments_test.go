package server_test

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/server"
)

func TestAttachmentsReachTheDaemon(t *testing.T) {
	w := newFakeDaemon()
	got := do(t, server.New(w.deps()), "POST", "/v1/messages", `{"text":"look","begun":"2026-11-29T10:00:00Z","attachments":[{"name":"a/b.png","mime":"image/png","data":"aGk="},{"data":""}]}`)
	want := []api.Attachment{{Name: "a/b.png", MIME: "image/png", Data: []byte("hi")}, {Data: []byte{}}}
	if got.status != 202 || !reflect.DeepEqual(w.files, want) || w.begun.Hour() != 10 {
		t.Errorf("%d %s: %+v, want %+v", got.status, got.raw, w.files, want)
	}
}

// An attachment stands for a text; everything else about a body is as strict as it is without one.
func TestAttachmentBodies(t *testing.T) {
	for name, c := range map[string]struct {
		path, body string
		status     int
		says       string
	}{
		"no text":          {"/v1/messages", `{"attachments":[{"name":"a","data":"aGk="}]}`, 202, `"inbox":`},
		"nothing at all":   {"/v1/messages", `{"attachments":[]}`, 400, "the message has no text"},
		"no base64":        {"/v1/messages", `{"attachments":[{"name":"a","data":"aGk="},{"name":"b","data":"a b"}]}`, 400, "attachment 2 is not understood"},
		"base64 for links": {"/v1/messages", `{"attachments":[{"name":"a","data":"_-8="}]}`, 400, "standard base64, padded"},
		"not padded":       {"/v1/messages", `{"attachments":[{"name":"a","data":"aGk"}]}`, 400, "attachment 1 is not understood"},
		"an object":        {"/v1/messages", `{"attachments":{"name":"a"}}`, 400, `\"attachments\": want a list, got an object`},
		"a number":         {"/v1/messages", `{"attachments":[{"name":"a","data":7}]}`, 400, "want a text, got a number"},
		"unknown":          {"/v1/messages", `{"attachments":[{"name":"a","path":"/etc/passwd"}]}`, 400, `unknown field \"path\"`},
		"elsewhere":        {"/v1/sessions/main/send", `{"text":"x","attachments":[{"name":"a","data":"aGk="}]}`, 400, `unknown field \"attachments\"`},
	} {
		w := newFakeDaemon()
		got := do(t, server.New(w.deps()), "POST", c.path, c.body)
		if got.status != c.status || !strings.Contains(got.raw, c.says) {
			t.Errorf("%s: %d %s, want %d and %s", name, got.status, got.raw, c.status, c.says)
		}
		if stored := len(w.posts) > 0; stored != (c.status == 202) {
			t.Errorf("%s: stored %v", name, stored)
		}
	}
}

// What is allowed at most fits into the body, in spite of base64.
func TestMostAttachmentsFit(t *testing.T) {
	w := newFakeDaemon()
	var list []string
	for _, size := range []int{8 << 20, 8 << 20, 4 << 20} {
		list = append(list, `{"name":"`+strings.Repeat("n", 200)+`","data":"`+base64.StdEncoding.EncodeToString(make([]byte, size))+`"}`)
	}
	got := do(t, server.New(w.deps()), "POST", "/v1/messages", `{"text":"`+strings.Repeat("t", 256<<10)+`","attachments":[`+strings.Join(list, ",")+`]}`)
	if got.status != 202 || len(w.files) != 3 {
		t.Errorf("%d %s: %d files", got.status, got.raw, len(w.files))
	}
}
