// Text for XML: a parser accepts the file for any bytes in a label.
#include <doctest/doctest.h>

#include "base/xml.h"

using gpo::utf8_bytes;
using gpo::xml_text;

TEST_CASE("what has a meaning in XML is written out, and all other text stays") {
    CHECK(xml_text("a<b>&\"c\" 'd' \\") == "a&lt;b&gt;&amp;&quot;c&quot; 'd' \\");
    CHECK(xml_text("\xc3\xa4 \xe2\x86\x92 \xf0\x9f\x99\x82") == "\xc3\xa4 \xe2\x86\x92 \xf0\x9f\x99\x82");
    CHECK(xml_text("").empty());
}

TEST_CASE("control characters, and characters that XML can't have, are replaced") {
    CHECK(xml_text("a\tb\n\x01\x7f") ==
          "a\xef\xbf\xbd"
          "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(xml_text("\xef\xbf\xbe\xef\xbf\xbf") == "\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(xml_text("\xef\xbf\xbd") == "\xef\xbf\xbd");
}

TEST_CASE("each byte that is part of no UTF-8 character is replaced, a character that was cut too") {
    CHECK(xml_text("\xff") == "\xef\xbf\xbd");
    CHECK(xml_text("a\xe2\x86") == "a\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(xml_text("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // half of a surrogate pair
    CHECK(utf8_bytes("\xc0\xaf", 0) == 0);                                      // longer than it need be
    CHECK(utf8_bytes("\xf4\x90\x80\x80", 0) == 0);                              // beyond Unicode
}
