package buildmodel

import "testing"

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain, größer, 订单\ttab\nline":     "plain, größer, 订单\ttab\nline",
		"\x1b[31mred\x07\x00\x7f\u009b":    "�[31mred����",
		"invoice\u202egnp.exe\u2066\u2069": "invoice�gnp.exe��",
		"שלום\u200f עולם\u200e":            "שלום\u200f עולם\u200e", // marks turn nothing around
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTitlesOfNodesArePrintable(t *testing.T) {
	m, err := Parse([]byte(`{"eruptModel":{"eruptName":"X","eruptJson":{"desc":"\u001bd","rowOperation":[{"code":"c","title":"\u202et"}],"drills":[{"code":"d","title":"\u0007"}]},
		"eruptFieldModels":[{"fieldName":"a","eruptFieldJson":{"views":[{"title":"\u001bv"}],"edit":{"title":"\u202ee","placeHolder":"\u0000"}},"componentValue":[{"value":"\u001b1","label":"\u001bl"}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Fields[0]
	got := []string{m.Desc, m.Operations[0].Title, m.Drills[0].Title, f.Views[0].Title, f.Edit.Title, f.Edit.PlaceHolder, f.Choices[0].Label}
	for i, want := range []string{"�d", "�t", "�", "�v", "�e", "�", "�l"} {
		if got[i] != want {
			t.Errorf("text %d is %q, want %q", i, got[i], want)
		}
	}
	if f.Choices[0].Value != "\x1b1" {
		t.Errorf("the value went to %q: what goes back to the node stays as it came", f.Choices[0].Value)
	}
}
