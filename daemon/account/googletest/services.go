package googletest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shown is a mail as the interface shows it.
func (m *Mail) shown(format string, names []string) map[string]any {
	out := map[string]any{"id": m.ID, "threadId": m.Thread, "labelIds": m.Labels, "internalDate": strconv.FormatInt(m.At.UnixMilli(), 10), "snippet": "begins like this"}
	switch format {
	case "raw":
		out["raw"] = base64.URLEncoding.EncodeToString([]byte(m.Raw))
	case "metadata":
		var headers []any
		if head, err := mail.ReadMessage(strings.NewReader(m.Raw)); err == nil {
			for _, name := range names {
				if v := head.Header.Get(name); v != "" {
					headers = append(headers, map[string]any{"name": name, "value": v})
				}
			}
		}
		out["payload"] = map[string]any{"headers": headers}
	}
	return out
}

// mail is Gmail.
func (s *Server) mail(method string, path map[string]string, q url.Values, body []byte) (int, any) {
	gone := func() (int, any) {
		return fault(http.StatusNotFound, "notFound", "Requested entity was not found.")
	}
	var in struct {
		ID      string
		Message struct{ Raw, ThreadID string }
	}
	_ = json.Unmarshal(body, &in) // it was checked
	switch method {
	case "users.getProfile":
		return http.StatusOK, map[string]any{"emailAddress": Address}
	case "users.messages.list":
		ids := slices.Sorted(maps.Keys(s.mails))
		from, _ := strconv.Atoi(q.Get("pageToken"))
		most, _ := strconv.Atoi(q.Get("maxResults"))
		out := map[string]any{}
		var list []any
		for _, id := range ids[min(from, len(ids)):min(from+most, len(ids))] {
			list = append(list, map[string]any{"id": id, "threadId": s.mails[id].Thread})
		}
		if from+most < len(ids) {
			out["nextPageToken"] = strconv.Itoa(from + most)
		}
		out["messages"] = list
		return http.StatusOK, out
	case "users.messages.get":
		if m := s.mails[path["id"]]; m != nil {
			return http.StatusOK, m.shown(q.Get("format"), q["metadataHeaders"])
		}
	case "users.drafts.create":
		raw, err := base64.URLEncoding.DecodeString(in.Message.Raw)
		if err != nil {
			return fault(http.StatusBadRequest, "invalidArgument", "raw")
		}
		m := &Mail{ID: s.next("m"), Thread: in.Message.ThreadID, Labels: []string{"DRAFT"}, Raw: string(raw), At: time.Now()}
		if m.Thread == "" {
			m.Thread = "t" + m.ID
		}
		id := s.next("r")
		s.drafts[id] = m
		return http.StatusOK, map[string]any{"id": id, "message": m.shown("", nil)}
	case "users.drafts.get":
		if m := s.drafts[path["id"]]; m != nil {
			return http.StatusOK, map[string]any{"id": path["id"], "message": m.shown("", nil)}
		}
	case "users.drafts.delete":
		if s.drafts[path["id"]] != nil {
			delete(s.drafts, path["id"])
			return http.StatusNoContent, nil
		}
	case "users.drafts.send": // the draft is deleted, and a message with a new id is made
		if m := s.drafts[in.ID]; m != nil {
			delete(s.drafts, in.ID)
			one := &Mail{ID: s.next("m"), Thread: m.Thread, Labels: []string{"SENT"}, Raw: m.Raw, At: time.Now()}
			s.mails[one.ID] = one
			s.sent++
			return http.StatusOK, one.shown("", nil)
		}
	case "users.threads.get":
		var list []any
		for _, m := range s.mails {
			if m.Thread == path["id"] {
				list = append(list, m.shown("", nil))
			}
		}
		if len(list) > 0 {
			return http.StatusOK, map[string]any{"id": path["id"], "messages": list}
		}
	}
	return gone()
}

// calendar is Calendar, with two calendars: the owner's, and one to read.
func (s *Server) calendar(method string, path map[string]string, q url.Values, body []byte) (int, any) {
	if id := path["calendarId"]; id != "" && id != Address {
		return fault(http.StatusNotFound, "notFound", "Not Found")
	}
	switch method {
	case "calendarList.list":
		return http.StatusOK, map[string]any{"items": []any{
			map[string]any{"id": Address, "summary": Address, "summaryOverride": "Home", "accessRole": "owner", "primary": true},
		}}
	case "events.list":
		ids := slices.Sorted(maps.Keys(s.events))
		from, _ := strconv.Atoi(q.Get("pageToken"))
		most, _ := strconv.Atoi(q.Get("maxResults"))
		list := []any{}
		for _, id := range ids[min(from, len(ids)):min(from+most, len(ids))] {
			list = append(list, s.events[id])
		}
		out := map[string]any{"items": list}
		if from+most < len(ids) {
			out["nextPageToken"] = strconv.Itoa(from + most)
		}
		return http.StatusOK, out
	case "events.get":
		if e := s.events[path["eventId"]]; e != nil {
			return http.StatusOK, e
		}
	case "events.insert":
		var e map[string]any
		_ = json.Unmarshal(body, &e) // it was checked
		id := fmt.Sprint(e["id"])
		if s.events[id] != nil {
			return fault(http.StatusConflict, "duplicate", "The requested identifier already exists.")
		}
		if strings.Trim(id, "abcdefghijklmnopqrstuv0123456789") != "" || len(id) < 5 {
			return fault(http.StatusBadRequest, "invalid", "Invalid resource id value.")
		}
		e["status"] = "confirmed"
		s.events[id] = e
		return http.StatusOK, e
	}
	return fault(http.StatusNotFound, "notFound", "Not Found")
}
