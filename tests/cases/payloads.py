"""Topics and payloads that an operator may meet: numbers, nearly numbers, JSON and what is not."""

TOPICS = ("a/x", "a/y", "b/x", "b/y", "c/x", "a%/x;y", "b", "$SYS/x", "a/x/deep")
PLAIN = ("1", "5", "-0", "0.1", "0.2", "0.3", "30", "30.0", " 7 ", "-12.75", "1e3", "1e-7")
ODD = ("", "NaN", "1e999", "hot", "01", "+1", "1" * 130, "é", "nohot", "0x10", "\n3\t")
DOCUMENTS = (
    '{"t":%s,"s":"ok"}',
    '{"s":"ok","t":%s}',
    '{"t":%s}',
    '{"t":null,"s":null,"v":%s}',
    '{"t":"%s","s":"bad"}',
    '{"d":{"t":%s,"l":[1,%s,"x"]},"s":"ok"}',
    '{"t":true,"s":false}',
    '[{"t":%s}]',
    '{"t":%s} x',
    '{"t":%s',
)
LIFETIMES = (None, None, None, 0, 1, 400, 5000, 90_000)
