package dbtype_test

import (
	"testing"

	"eruptcloud/ent/dbtype"
)

func TestFlagScan(t *testing.T) {
	tests := map[string]struct {
		src  any
		want dbtype.Flag
		fail bool
	}{
		"bit(1) set":          {[]byte{1}, true, false},
		"bit(1) clear":        {[]byte{0}, false, false},
		"tinyint":             {int64(1), true, false},
		"tinyint as text":     {[]byte("1"), true, false},
		"sqlite boolean":      {true, true, false},
		"null":                {nil, false, false},
		"text that is no bit": {[]byte("yes"), false, true},
		"a float":             {1.0, false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := dbtype.Flag(!tt.want)
			err := f.Scan(tt.src)
			if (err != nil) != tt.fail || (err == nil && f != tt.want) {
				t.Errorf("Scan(%v) = %v, %v; want %v, failure %v", tt.src, f, err, tt.want, tt.fail)
			}
		})
	}
}
