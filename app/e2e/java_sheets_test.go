package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// sheets: template, export with the browser's Origin, import, and an import whose second row is bad. The original's own
// downloads fail at this point: it hands the Origin on.
func (f *farm) sheets(t *testing.T) {
	if status, raw := f.browser(f.one, "GET", "/erupt-api/excel/template/{e}", "Customer", ""); status != http.StatusOK || !strings.HasPrefix(raw, "\xd0\xcf\x11\xe0") {
		t.Errorf("template = %d %.60q, want an .xls", status, raw)
	}
	if status, raw := f.browser(f.two, "POST", "/erupt-api/excel/export/{e}", "Customer", `[{"key":"active","value":null}]`); status != http.StatusOK || !strings.HasPrefix(raw, "PK\x03\x04") {
		t.Errorf("export = %d %.60q, want an .xlsx", status, raw)
	}
	foreign := http.Header{"erupt": {"warehouse.Customer"}, "Origin": {"http://elsewhere.example"}}
	if resp, raw := f.two.call(http.MethodPost, "/erupt-api/excel/export/warehouse.Customer", json.RawMessage("[]"), foreign); strings.HasPrefix(string(raw), "PK") {
		t.Errorf("an export asked for by another site = %d and the file", resp.StatusCode)
	}
	before := len(f.javaOne.rows("customer"))
	if status, raw := f.importSheet([][]string{
		{"Name", "Code", "Level", "Active", "Region"}, {"Imported 进口", "C-5001", "Standard", "Yes", "Berlin"}, {"Imported two", "C-5002", "Very important", "No", ""},
	}); status != http.StatusOK || !strings.Contains(raw, `"status":"SUCCESS"`) {
		t.Errorf("import = %d %s", status, raw)
	}
	if status, raw := f.importSheet([][]string{{"Name", "Code", "Level"}, {"Good", "C-5003", "Standard"}, {"Bad", "nope", "Standard"}}); status != http.StatusInternalServerError || !strings.Contains(raw, "3") || !strings.Contains(raw, "Code") {
		t.Errorf("import with a bad row = %d %s, want 500 that names row 3 and the code", status, raw)
	}
	if after := len(f.javaOne.rows("customer")); after != before+2 {
		t.Errorf("%d customers became %d, want two more: nothing of a bad sheet is kept", before, after)
	}
}

func (f *farm) importSheet(rows [][]string) (int, string) {
	f.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "customers.xlsx")
	if err != nil {
		f.Fatal(err)
	}
	if _, err := part.Write(sheet(f, rows)); err != nil {
		f.Fatal(err)
	}
	if err := form.Close(); err != nil {
		f.Fatal(err)
	}
	resp, raw := f.two.call(http.MethodPost, "/erupt-api/excel/import/warehouse.Customer", &body, http.Header{"erupt": {"warehouse.Customer"}, "Content-Type": {form.FormDataContentType()}})
	return resp.StatusCode, string(raw)
}

// sheet is a workbook of one sheet, as small as the format allows.
func sheet(t testing.TB, rows [][]string) []byte {
	t.Helper()
	const office, packages = "http://schemas.openxmlformats.org/officeDocument/2006/relationships", "http://schemas.openxmlformats.org/package/2006/"
	const main, kind = "http://schemas.openxmlformats.org/spreadsheetml/2006/main", "application/vnd.openxmlformats-officedocument.spreadsheetml."
	var data strings.Builder
	for _, row := range rows {
		data.WriteString("<row>")
		for _, cell := range row {
			if cell == "" {
				data.WriteString("<c/>")
				continue
			}
			data.WriteString(`<c t="inlineStr"><is><t>`)
			if err := xml.EscapeText(&data, []byte(cell)); err != nil {
				t.Fatal(err)
			}
			data.WriteString("</t></is></c>")
		}
		data.WriteString("</row>")
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, part := range [][2]string{
		{"[Content_Types].xml", `<Types xmlns="` + packages + `content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="` +
			kind + `sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="` + kind + `worksheet+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="` + packages + `relationships"><Relationship Id="rId1" Type="` + office + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns="` + main + `" xmlns:r="` + office + `"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + packages + `relationships"><Relationship Id="rId1" Type="` + office + `/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`},
		{"xl/worksheets/sheet1.xml", `<worksheet xmlns="` + main + `"><sheetData>` + data.String() + `</sheetData></worksheet>`},
	} {
		w, err := z.Create(part[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(xml.Header + part[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
