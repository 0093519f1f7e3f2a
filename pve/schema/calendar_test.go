package schema

import "testing"

func TestCalendarEvents(t *testing.T) {
	s := mustLoad(t, "9.2")
	for _, good := range []string{
		"daily", "hourly", "minutely", "weekly", "monthly", "yearly", "annually", "quarterly", "semi-annually", "daily UTC",
		"*/15", "5", "2:30", "22:30:15", "*:0/5", "mon..fri 2:30", "sat,sun", "mon,tue 1,2,3:0..30/10", "sun..mon",
		"Monday 2:30", "*-*-* 00:00", "*-1,7-1", "2020-7-31 12:00 UTC", "12-24 18:00", "mon *-*-1..7 21:00", " 2:30 ",
		"25:00", // minute 25, second 0
	} {
		if err := s.CheckFormat("pve-calendar-event", good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for in, want := range map[string]string{
		"":           "invalid calendar event '' - unable to parse calendar event - event is empty\n\n",
		"foo":        "invalid calendar event 'foo' - unable to parse calendar event at 'foo' - Context(\"weekday\")\n\n",
		"mon..foo":   "invalid calendar event 'mon..foo' - unable to parse calendar event at '..foo' - Nom(Eof)\n\n",
		"mon,foo":    "invalid calendar event 'mon,foo' - unable to parse calendar event at ',foo' - Nom(Eof)\n\n",
		"25:00:00":   "invalid calendar event '25:00:00' - unable to parse calendar event at ':00' - Nom(Eof)\n\n",
		"2:61":       "invalid calendar event '2:61' - unable to parse calendar event at '2:61' - Context(\"date or time specification\")\n\n",
		"!":          "invalid calendar event '!' - unable to parse calendar event at '!' - Context(\"date or time specification\")\n\n",
		"10..5":      "invalid calendar event '10..5' - unable to parse calendar event at '10..5' - Context(\"date or time specification\")\n\n",
		"daily x":    "invalid calendar event 'daily x' - unable to parse calendar event at 'daily' - Context(\"weekday\")\n\n",
		"2:30 x":     "invalid calendar event '2:30 x' - unable to parse calendar event at ' x' - Nom(Eof)\n\n",
		"*/0":        "invalid calendar event '*/0' - unable to parse calendar event at '/0' - Nom(Eof)\n\n",
		"2020-13-01": "invalid calendar event '2020-13-01' - unable to parse calendar event at '2020-13-01' - Context(\"date or time specification\")\n\n",
	} {
		err := s.CheckFormat("pve-calendar-event", in)
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %q", in, err, want)
		}
	}
}
