package builtin

import (
	"cmp"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"
	"hob/daemon/text"
)

// scheduledAs confirms a new job in one sentence, with a line for each reading that was chosen and for what it costs. For other actions it
// returns the tool's text.
func (s *state) scheduledAs(job jobArgs, result string) string {
	_, rest, _ := strings.Cut(strings.TrimSpace(result), "\n")
	next, rest, _ := strings.Cut(rest, "\n")
	next, ok := strings.CutPrefix(next, "next: ")
	if job.Action != "add" || !ok {
		return near(result, s.m.Now)
	}
	what, reminder := strings.CutPrefix(job.Prompt, "say: ")
	head := "I will do this "
	if reminder {
		head = "I will remind you "
	}
	times := strings.Split(next, ", ")
	when := spoken(times[0], s.m.Now)
	if len(times) > 1 {
		when = every(job.Schedule) + ", first " + when
	}
	// The notes follow the times; the fields of the job follow the notes. The last line is the estimate.
	notes, fields, _ := strings.Cut("\n"+rest, "\nprompt: ")
	estimate := fields[strings.LastIndexByte(fields, '\n')+1:]
	if strings.Contains(estimate, "$") || strings.HasSuffix(estimate, "tokens") || strings.HasSuffix(estimate, event.NeedsModel) {
		notes += "\n" + estimate
	}
	return head + when + ": " + what + notes
}

// listedTime is the next time in a line of the cron tool's list.
var listedTime = sys.Regexp(`\| next (\w+ \d+ \w+ \d{4} \d\d:\d\d)(:\d\d)?(,| \|)`)

// near returns a list of jobs with its times as people say them. The tool's own list has dates, because a model may read it days later.
func near(list string, now func() time.Time) string {
	if now == nil {
		return list
	}
	return listedTime().ReplaceAllStringFunc(list, func(line string) string {
		part := listedTime().FindStringSubmatch(line)
		at, err := time.ParseInLocation("Mon 2 Jan 2006 15:04:05", part[1]+cmp.Or(part[2], ":00"), now().Location())
		if err != nil {
			return line
		}
		return "| next " + text.Soon(at, now(), false) + part[3]
	})
}

// every returns a recurring schedule for the middle of a sentence.
func every(schedule string) string {
	if schedule == "" || strings.ContainsAny(schedule[:1], "0123456789*@") || strings.HasPrefix(lowered(schedule, 4), "cron") {
		return `on the schedule "` + schedule + `"`
	}
	return lowered(schedule, 1)
}

// spoken returns a time of the cron tool as people say it: "today at 12:19", "tomorrow at 09:00", "on Friday at 09:00", "on 24 December at
// 17:00". Seconds are shown when the time is near. A text in another form is returned as it is.
func spoken(text string, now func() time.Time) string {
	if now == nil {
		return text
	}
	today := now()
	at, err := time.ParseInLocation("Mon 2006-01-02 15:04:05", text, today.Location())
	if err != nil {
		at, err = time.ParseInLocation("Mon 2006-01-02 15:04", text, today.Location())
	}
	if err != nil {
		return text
	}
	form := "15:04"
	if at.Second() != 0 && at.Sub(today) < 2*time.Minute {
		form = "15:04:05"
	}
	clock := " at " + at.Format(form)
	midnight := time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, today.Location())
	switch {
	case at.Before(midnight.AddDate(0, 0, 1)):
		return "today" + clock
	case at.Before(midnight.AddDate(0, 0, 2)):
		return "tomorrow" + clock
	case at.Before(midnight.AddDate(0, 0, 7)):
		return "on " + at.Format("Monday") + clock
	case at.Year() == today.Year():
		return "on " + at.Format("Monday, 2 January") + clock
	}
	return "on " + at.Format("Monday, 2 January 2006") + clock
}

// similar returns the names that are like the one that no job or watch has, or else the names of both. They are the hints of the tools.
func similar(messages []llm.Message) string {
	var near, all []string
	for _, msg := range messages {
		text, hint, ok := strings.Cut(event.TextOf(msg.Parts), "\nhint: ")
		if !ok || msg.Role != llm.ToolRole || !msg.IsError {
			continue
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(text, "NOT_FOUND: there is no "), " ") // job or watch
		switch verb, names, listed := strings.Cut(hint, ": "); {
		case listed && verb == "there is":
			all = append(all, "There is the "+kind+" "+names+".")
		case listed && verb == "there are":
			all = append(all, "There are the "+map[string]string{"job": "jobs ", "watch": "watches "}[kind]+names+".")
		case strings.HasSuffix(hint, "?"):
			near = append(near, capital(hint))
		}
	}
	return cmp.Or(strings.Join(near, " "), strings.Join(all, " "), "list jobs and list watches show the names.")
}
