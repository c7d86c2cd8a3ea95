package catalog_test

import (
	"strings"
	"testing"
)

// N41: what goes to the interpreter first although a model is connected, and what may mean something else and is for the model.
func TestFirst(t *testing.T) {
	i, _ := interpreter(t)
	for _, text := range []string{
		"remind me in 5 minutes to look", "Remind me in 20m to stretch.", "hey hob, could you remind me tomorrow at 9 to call mum, please?", "set a timer for 5 minutes",
		"wake me up at 7", "remind me at 5 p.m. to leave", "at 17:00 tomorrow: say time to go", "every weekday at 9: say good morning", "remember to buy milk tomorrow at 9",
		"remember that the door code is 4711", "remember: bins go out on Friday", "don't forget that Jo is allergic to nuts", "forget the door code",
		"list reminders", "show my timers", "list jobs", "list watches", "what reminders do I have", "what time is it?", "what is the date today",
		"remind me in 5 minutes to look\nremind me at 18:00 to cook",
	} {
		if ok, name := i.First(text); !ok || name != "" {
			t.Errorf("%q is not for the interpreter: %v, %q", text, ok, name)
		}
	}
	for text, want := range map[string]string{"cancel stretch": "stretch", "pause spotify": "spotify", "resume morning": "morning", "delete the reminder to call mum": "call-mum", "pause watch papers": "papers"} {
		if ok, name := i.First(text); !ok || name != want {
			t.Errorf("%q: %v, about %q, want %q", text, ok, name, want)
		}
	}
	for _, text := range strings.Split(`hello|help|yes|run df -h|read notes.md|list files|what's next?|anything on today?|show my agenda|tasks|timer 5|remind me to call mum|remind me of that tomorrow at 9|
remind me tomorrow at 9 to call mum if it rains|remind me in 5 minutes to look and tell me a joke|remind me tomorrow at 8 what is on my calendar|tell me tomorrow at 8 the weather|
every weekday at 9: tell me the news|every day at 8: run backup.sh|watch notes.md: say it changed|remember that it is green|remember that time in Rome|remember what I said|
remember that I am vegetarian. Now plan a menu for the week|remember that the code is 4711; what is 2+2|remember the trip|remember this|forget it|forget everything|forget what I said|
forget about the weather, tell me a joke|forget that I said Friday|cancel|cancel it|cancel everything|stop|2+2|what do you know about the door|send owner hello|
remind me in 5 minutes to look
and what is the weather|write notes.md: buy milk|translate remind me in 5 minutes|run job backup|runs of backup`, "|") {
		if ok, name := i.First(strings.TrimSpace(text)); ok {
			t.Errorf("%q does not go to the model (%q)", strings.TrimSpace(text), name)
		}
	}
}

// N2, N3, N9: a suggestion is taken by yes, a number without a unit is asked back, and several reminders in a message are all made.
func TestConversations(t *testing.T) {
	i, now := interpreter(t)
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"remnd me in 5 min to call mum", "yes"}, "at 2026-11-21 09:35: say: call mum"},
		{[]string{"dentist tomorrow 14:30", "Yes, please!"}, "at 2026-11-22 14:30: say: dentist"},
		{[]string{"df -h .", "y"}, `exec {"command":"df -h ."}`},
		{[]string{"in 20 minutes call mum", "ok"}, "at 2026-11-21 09:50: say: call mum"},
		{[]string{"timer 5"}, "says Did you mean: timer for 5 minutes"},
		{[]string{"timer 5", "yes"}, "at 2026-11-21 09:35: say: timer"},
		{[]string{"set a timer for 5 for the eggs"}, "says Did you mean: set a timer for 5 minutes for the eggs"},
		{[]string{"remind me in 5 to stretch", "sure"}, "at 2026-11-21 09:35: say: stretch"},
		{[]string{"remind me 10 to stretch"}, "says Did you mean: remind me in 10 minutes to stretch"},
		{[]string{"alarm 7"}, "at 2026-11-22 07:00: say: alarm"},
		{[]string{"wake me up at 7"}, "at 2026-11-22 07:00: say: wake up"},
	} {
		if got := became(t, typed(t, i, c.texts...), now); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.texts, got, c.want)
		}
	}
	// Another answer in between ends the suggestion.
	if got := became(t, typed(t, i, "timer 5", "hello", "yes"), now); !strings.HasPrefix(got, "says I have no open question") {
		t.Errorf("yes after another answer: %s", got)
	}
	for _, text := range []string{
		"remind me in 5 minutes to look\nremind me at 18:00 to cook\n\nset a timer for 10 minutes", "- remind me in 5 minutes to look\r\n- remind me at 18:00 to cook\n- timer 10 minutes",
		"timer 5 minutes\ntimer 10 minutes\ntimer 15 minutes",
	} {
		a := typed(t, i, text)
		if len(a.Calls) != 3 || a.Calls[0].ID == a.Calls[1].ID {
			t.Errorf("%q becomes %+v", text, a.Calls)
		}
		for _, c := range a.Calls {
			if strings.Contains(string(c.Args), `\n`) || !strings.Contains(string(c.Args), `"prompt":"say: `) {
				t.Errorf("%q becomes %s", text, c.Args)
			}
		}
	}
	if a := typed(t, i, "remind me in 5 minutes to look\nand what is the weather"); len(a.Calls) > 1 {
		t.Errorf("a line that is no reminder: %+v", a)
	}
}

// N4: each text that is not understood is answered with how to connect a model.
func TestWhatNeedsAModelSaysHowToConnectOne(t *testing.T) {
	i, _ := interpreter(t)
	texts := []string{"weather in Berlin tomorrow", "send an email to bob", "translate hello to german", "what is on my list"}
	for n := range texts {
		if a := typed(t, i, texts[:n+1]...); !strings.Contains(a.Text, "hob setup") {
			t.Errorf("%q: %s", texts[n], a.Text)
		}
	}
}
