package console

import (
	"time"

	"eruptcloud/views"
)

// logDocument is a run of log lines for scripts (U80).
type logDocument struct {
	Node    string         `json:"node,omitempty"`
	Replica string         `json:"replica,omitempty"` // whose own log it is
	Order   views.LogOrder `json:"order"`             // of lines of several instances: "time", "both" or "arrival"
	Lines   []logDocLine   `json:"lines"`
	Sources []logDocSource `json:"sources"`
}

type logDocLine struct {
	Instance string     `json:"instance"`
	Num      int64      `json:"num"`
	Time     *time.Time `json:"time,omitempty"` // only if the line names its zone
	Local    string     `json:"local,omitempty"`
	Level    string     `json:"level,omitempty"`
	Text     string     `json:"text"` // without colours, time and level
	Bytes    int        `json:"bytes,omitempty"`
	Charset  string     `json:"charset,omitempty"`
}

type logDocSource struct {
	Instance  string `json:"instance"`
	First     int64  `json:"first"` // for ?before=FIRST@INSTANCE
	Last      int64  `json:"last"`  // for ?at=LAST@INSTANCE
	Remaining int64  `json:"remaining"`
	Restarted bool   `json:"restarted,omitempty"`
	Rotated   bool   `json:"rotated,omitempty"`
	Lost      int64  `json:"lost,omitempty"`
	Again     bool   `json:"again,omitempty"`
	Gone      bool   `json:"gone,omitempty"`
	Failed    string `json:"failed,omitempty"`
}

func logDocumentOf(c views.LogChunk) logDocument {
	d := logDocument{Node: c.Node, Replica: c.Replica, Order: c.Order, Lines: make([]logDocLine, 0, len(c.Lines)), Sources: make([]logDocSource, 0, len(c.Sources))}
	for _, l := range c.Lines {
		line := logDocLine{Instance: l.Instance, Num: l.Num, Level: l.Level, Text: l.Text(), Bytes: l.Cut, Charset: l.Charset}
		switch {
		case l.Zoned:
			line.Time = &l.Time
		case !l.Time.IsZero():
			line.Local = l.Time.Format("2006-01-02T15:04:05.000")
		}
		d.Lines = append(d.Lines, line)
	}
	for _, s := range c.Sources {
		d.Sources = append(d.Sources, logDocSource{
			Instance: s.ID, First: s.First, Last: s.Last, Remaining: s.Remaining(), Restarted: s.Restarted, Rotated: s.Rotated,
			Lost: s.Lost, Again: s.Again, Gone: s.Gone, Failed: s.Failed,
		})
	}
	return d
}
