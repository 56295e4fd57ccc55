"""English."""

from decimal import Decimal

from tests.unit.selector.desk import (
    Asked,
    account,
    charge,
    crm,
    look_up,
    mail,
    note,
    receipt,
    refund,
    reserve,
)

FAILED_ORDER = (
    "charge order 4411 40.00, then update the crm for order 4411, then provision the account for order 4411"
)
WITH_A_RECEIPT = (
    "charge order 4411 40.00, then send the receipt for order 4411, then provision the account for order 4411"
)

READ: dict[str, tuple[str, list[Asked]]] = {
    "the failed order": (FAILED_ORDER, [charge(4411, "40.00"), crm(4411), account(4411)]),
    "with a receipt": (WITH_A_RECEIPT, [charge(4411, "40.00"), receipt(4411), account(4411)]),
    "four requests": (
        f"{FAILED_ORDER}, then send the receipt for order 4411",
        [charge(4411, "40.00"), crm(4411), account(4411), receipt(4411)],
    ),
    # one request
    "a charge": ("charge order 4411 40.00", [charge(4411, "40.00")]),
    "a refund": ("refund charge LK-645334 40.00", [refund("LK-645334", "40.00")]),
    "a look": ("look up order 4411", [look_up(4411)]),
    # capitals, white space, the end
    "capitals": (
        "CHARGE ORDER 4411 40.00, THEN UPDATE THE CRM FOR ORDER 4411",
        [charge(4411, "40.00"), crm(4411)],
    ),
    "capitals of every letter": ("REFUND CHARGE LK-1 40.00", [refund("LK-1", "40.00")]),
    "a sentence": ("Look up order 4411.", [look_up(4411)]),
    "spaces and tabs": ("  look   up\torder 4411  ", [look_up(4411)]),
    "a space that does not break": ("look up\u00a0order 4411", [look_up(4411)]),
    "lines": ("look up order\r\n4411\n", [look_up(4411)]),
    "two lines": (
        "charge order 1 40.00,\nthen send the receipt for order 1\n",
        [charge(1, "40.00"), receipt(1)],
    ),
    # words that may be left out
    "no article": ("update crm for order 4411", [crm(4411)]),
    "more articles": ("update the crm for the order 4411", [crm(4411)]),
    "courtesy first": ("please look up order 4411", [look_up(4411)]),
    "courtesy and a comma": ("Please, look up order 4411.", [look_up(4411)]),
    "courtesy last": ("look up order 4411, please", [look_up(4411)]),
    "courtesy in the middle": (
        "look up the order 4411, please, then send the receipt for order 4411",
        [look_up(4411), receipt(4411)],
    ),
    "courtesy that is quoted": (
        'note "please leave the door" on order 7',
        [note("please leave the door", 7)],
    ),
    # joining
    "then": ("look up order 1 then look up order 2", [look_up(1), look_up(2)]),
    "comma then": ("look up order 1, then look up order 2", [look_up(1), look_up(2)]),
    "and then": ("look up order 1 and then look up order 2", [look_up(1), look_up(2)]),
    "comma and then": ("look up order 1, and then look up order 2", [look_up(1), look_up(2)]),
    "and": ("look up order 1 and look up order 2", [look_up(1), look_up(2)]),
    "comma and": ("look up order 1, and look up order 2", [look_up(1), look_up(2)]),
    "full stop": ("Look up order 1. Look up order 2.", [look_up(1), look_up(2)]),
    "paragraphs": ("Look up order 1.\n\nThen, look up order 2.", [look_up(1), look_up(2)]),
    "full stop and then": ("look up order 1. And then look up order 2", [look_up(1), look_up(2)]),
    "then first": ("then look up order 1", [look_up(1)]),
    "and then first": ("And then, please, look up order 1", [look_up(1)]),
    "twice the same": (
        "charge order 1 40 and charge order 1 40",
        [charge(1, "40.00"), charge(1, "40.00")],
    ),
    # money
    "whole money": ("charge order 4411 40", [charge(4411, "40.00")]),
    "whole money and a stop": ("charge order 4411 40.", [charge(4411, "40.00")]),
    "one place": ("charge order 4411 40.5", [charge(4411, "40.50")]),
    "cents": ("charge order 4411 0.05", [charge(4411, "0.05")]),
    "a thousand": ("charge order 4411 1,250.00", [charge(4411, "1250.00")]),
    "a thousand and a comma": (
        "charge order 4411 1,250, then look up order 4411",
        [charge(4411, "1250.00"), look_up(4411)],
    ),
    "a million": ("charge order 4411 1,234,567.89", [charge(4411, "1234567.89")]),
    "money and a stop": (
        "charge order 4411 40.00. Look up order 4411.",
        [charge(4411, "40.00"), look_up(4411)],
    ),
    "a thousand million": ("charge order 4411 1,234,567,890.00", [charge(4411, "1234567890.00")]),
    # numbers
    "nought": ("look up order 0", [look_up(0)]),
    "the largest number": ("look up order 9007199254740991", [look_up(2**53 - 1)]),
    "a quantity": ("reserve 3 of SKU-1", [reserve(3, "SKU-1")]),
    "a quantity in words": ("Reserve three of SKU-1", [reserve(3, "SKU-1")]),
    # ids
    "an id keeps its case": ("refund charge lk-Aa9 40.00", [refund("lk-Aa9", "40.00")]),
    "an id with signs": ("refund charge ch_12.b 40.00", [refund("ch_12.b", "40.00")]),
    "an id of digits": ("refund charge 0044 40.00", [refund("0044", "40.00")]),
    "an id that is almost a day": ("refund charge 2026-050 40.00", [refund("2026-050", "40.00")]),
    # quoted text and addresses
    "connectives that are quoted": (
        'note "Leave it, then go. And ring THE bell" on order 7',
        [note("Leave it, then go. And ring THE bell", 7)],
    ),
    "curly marks": ("note \u201cleave it and go\u201d on order 7", [note("leave it and go", 7)]),
    "signs that are quoted": (
        "note \u201cit\u2019s caf\u00e9 \u2615\u201d on order 7",
        [note("it\u2019s caf\u00e9 \u2615", 7)],
    ),
    "lines that are quoted": ('note "two\nlines" on order 7', [note("two\nlines", 7)]),
    "another script that is quoted": (
        'note "\u05e9\u05dc\u05d5\u05dd" on order 7',
        [note("\u05e9\u05dc\u05d5\u05dd", 7)],
    ),
    "a call that is quoted": ('note "get_order(order=7)" on order 7', [note("get_order(order=7)", 7)]),
    "an address": (
        'write to Ana.Silva+x@Shop.example saying "hi"',
        [mail("Ana.Silva+x@Shop.example", "hi")],
    ),
    "an address and a stop": (
        'Write to ana@shop.example saying "hi". Look up order 7.',
        [mail("ana@shop.example", "hi"), look_up(7)],
    ),
    # lists
    "a list of two": ("look up orders 4411 and 4412", [look_up(4411), look_up(4412)]),
    "a list of three": ("look up the orders 1, 2 and 3", [look_up(1), look_up(2), look_up(3)]),
    "a list with a comma before its word": (
        "Look up orders 1, 2, and 3.",
        [look_up(1), look_up(2), look_up(3)],
    ),
    "a list that shares an amount": (
        "charge orders 4411 and 4412 40.00 each",
        [charge(4411, "40.00"), charge(4412, "40.00")],
    ),
    "a list among other requests": (
        "look up order 9 and charge orders 1, 2 and 3 1,250.00 each and look up order 9",
        [look_up(9), *(charge(order, "1250.00") for order in (1, 2, 3)), look_up(9)],
    ),
    "two lists": (
        "look up orders 1 and 2 and update the crm for orders 3 and 4, please",
        [look_up(1), look_up(2), crm(3), crm(4)],
    ),
    # what was named before
    "the same": (
        "charge order 4411 40.00, then update the crm for the same order",
        [charge(4411, "40.00"), crm(4411)],
    ),
    "the same, again and again": (
        "Look up order 4411. Charge the same order 40 and send the receipt for the same order.",
        [look_up(4411), charge(4411, "40.00"), receipt(4411)],
    ),
    "the same after two times the same": (
        "look up order 1, then look up order 1, then update the crm for the same order",
        [look_up(1), look_up(1), crm(1)],
    ),
    "it": (
        "charge order 4411 40.00 and send the receipt for it, then update the crm for it",
        [charge(4411, "40.00"), receipt(4411), crm(4411)],
    ),
    # the form that reads in one way alone
    "a call": ("charge_card(order=4411, amount=40.00)", [charge(4411, "40.00")]),
    "calls and requests": (
        'get_order(order=1), then look up order 2. add_note(note="a, then b", order=3)',
        [look_up(1), look_up(2), note("a, then b", 3)],
    ),
}

CHARGE = "charge order 4411 40.00"

REFUSED: dict[str, tuple[str, tuple[str, ...]]] = {
    # one part among good ones
    "one part in the middle": (f"{CHARGE}, then dance, then look up order 4411", ("dance",)),
    "two parts": (f"dance, then {CHARGE}, then sing", ("dance", "sing")),
    "thanks": (f"{CHARGE}. Thank you.", ("Thank you",)),
    "half a request": (f"{CHARGE}, then update the crm", ("update the crm",)),
    "nothing between": (
        f"{CHARGE} update crm for order 4411",
        (f"{CHARGE} update crm for order 4411",),
    ),
    "a comma between": (
        f"{CHARGE}, update crm for order 4411",
        (f"{CHARGE}, update crm for order 4411",),
    ),
    "a semicolon between": (f"{CHARGE}; look up order 1", (f"{CHARGE}; look up order 1",)),
    "a comma inside": ("charge order 4411, 40.00", ("charge order 4411, 40.00",)),
    # stopped in mid-sentence, or begun in one
    "then at the end": (f"{CHARGE}, then", (", then",)),
    "and at the end": (f"{CHARGE} and", ("and",)),
    "and then and a stop": (f"{CHARGE} and then.", ("and then.",)),
    "a comma at the end": (f"{CHARGE},", (f"{CHARGE},",)),
    "then a courtesy": (f"{CHARGE}, then please", ("please",)),
    "then twice": (f"{CHARGE}, then then look up order 1", (", then then",)),
    "and, then": (f"{CHARGE} and, then look up order 1", ("and, then",)),
    "a comma first": (f", then {CHARGE}", (", then",)),
    "a stop first": (f". {CHARGE}", (".",)),
    "then alone": ("then", ("then",)),
    "no amount": ("charge order 4411", ("charge order 4411",)),
    "a verb": ("charge", ("charge",)),
    "two stops": (f"{CHARGE}..", (f"{CHARGE}.",)),
    "two stops apart": (f"{CHARGE}. .", (". .",)),
    # not asking for it
    "not": (f"do not {CHARGE}", (f"do not {CHARGE}",)),
    "never": (f"never {CHARGE}", (f"never {CHARGE}",)),
    "short for not": (f"don't {CHARGE}", (f"don't {CHARGE}",)),
    "short for not, curly": (f"don\u2019t {CHARGE}", (f"don\u2019t {CHARGE}",)),
    "not in the middle": ("charge not order 4411 40.00", ("charge not order 4411 40.00",)),
    "not the second": (
        f"{CHARGE} and do not update the crm for order 4411",
        ("do not update the crm for order 4411",),
    ),
    "a question": (f"{CHARGE}?", (f"{CHARGE}?",)),
    "a condition": (f"if it is paid, {CHARGE}", (f"if it is paid, {CHARGE}",)),
    "all of it quoted": (f'"{CHARGE}"', (f'"{CHARGE}"',)),
    # numbers that are not plain ones
    "hexadecimal": ("charge order 0x11 40.00", ("charge order 0x11 40.00",)),
    "below nought": ("look up order -4411", ("look up order -4411",)),
    "with a plus": ("look up order +4411", ("look up order +4411",)),
    "with an underscore": ("look up order 4_411", ("look up order 4_411",)),
    "with places": ("look up order 4411.0", ("look up order 4411.0",)),
    "with a group": ("look up order 4,411", ("look up order 4,411",)),
    "with a leading nought": ("look up order 044", ("look up order 044",)),
    "too large": ("look up order 9007199254740992", ("look up order 9007199254740992",)),
    "much too large": ("look up order 123456789012345678901", ("look up order 123456789012345678901",)),
    "Arabic digits": (
        "look up order \u0664\u0664\u0661\u0661",
        ("look up order \u0664\u0664\u0661\u0661",),
    ),
    "wide digits": ("look up order \uff14\uff14", ("look up order \uff14\uff14",)),
    "superscript digits": ("look up order 4\u00b2", ("look up order 4\u00b2",)),
    "a number in words": ("look up order four", ("look up order four",)),
    "an article before a number": ("look up order the 4411", ("look up order the 4411",)),
    "a quantity of nought": ("reserve 0 of SKU-1", ("reserve 0 of SKU-1",)),
    "a quantity below nought": ("reserve -3 of SKU-1", ("reserve -3 of SKU-1",)),
    "a quantity with places": ("reserve 3.5 of SKU-1", ("reserve 3.5 of SKU-1",)),
    "a quantity nobody knows": ("reserve some of SKU-1", ("reserve some of SKU-1",)),
    # amounts that are not plain ones
    "the other mark": ("charge order 4411 40,00", ("charge order 4411 40,00",)),
    "the other marks": ("charge order 4411 1.250,00", ("charge order 4411 1.250,00",)),
    "a short group": ("charge order 4411 1,25.00", ("charge order 4411 1,25.00",)),
    "three places": ("charge order 4411 40.001", ("charge order 4411 40.001",)),
    "an amount below nought": ("charge order 4411 -40.00", ("charge order 4411 -40.00",)),
    "a currency nobody said": ("charge order 4411 $40.00", ("charge order 4411 $40.00",)),
    "a currency in words nobody said": (
        "charge order 4411 40 dollars",
        ("charge order 4411 40 dollars",),
    ),
    "an exponent": ("charge order 4411 4e3", ("charge order 4411 4e3",)),
    "not a number": ("charge order 4411 nan", ("charge order 4411 nan",)),
    "no whole part": ("charge order 4411 .50", ("charge order 4411 .50",)),
    "an amount with a leading nought": ("charge order 4411 040.00", ("charge order 4411 040.00",)),
    "a space after the mark": ("charge order 4411 40. 00", ("00",)),
    "a space for a group": ("charge order 4411 1 250.00", ("charge order 4411 1 250.00",)),
    "a thin space for a group": (
        "charge order 4411 1\u2009250.00",
        ("charge order 4411 1\u2009250.00",),
    ),
    "a narrow space for a group": (
        "charge order 4411 1\u202f250.00",
        ("charge order 4411 1\u202f250.00",),
    ),
    # ids and addresses
    "a word for an id": ("refund charge order 40.00", ("refund charge order 40.00",)),
    "an amount for an id": ("refund charge 40.00 40.00", ("refund charge 40.00 40.00",)),
    "a grouped amount for an id": ("refund charge 1.250.000 40.00", ("refund charge 1.250.000 40.00",)),
    "a day for an id": ("refund charge 2026-05-01 40.00", ("refund charge 2026-05-01 40.00",)),
    "a day the other way round for an id": (
        "refund charge 01-05-2026 40.00",
        ("refund charge 01-05-2026 40.00",),
    ),
    "a day with stops for an id": ("refund charge 01.05.2026 40.00", ("refund charge 01.05.2026 40.00",)),
    "a long id": (f"refund charge {'a1' * 33} 40.00", (f"refund charge {'a1' * 33} 40.00",)),
    "an id and a semicolon": ("refund charge LK-645334; 40.00", ("refund charge LK-645334; 40.00",)),
    "an address without its end": (
        'write to ana@shop saying "hi"',
        ('write to ana@shop saying "hi"',),
    ),
    "a long address": (
        f'write to {"a" * 250}@a.pt saying "hi"',
        (f'write to {"a" * 250}@a.pt saying "hi"',),
    ),
    # quotation marks
    "nothing quoted": ('note "" on order 7', ('note "" on order 7',)),
    "a space quoted": ('note " " on order 7', ('note " " on order 7',)),
    "single marks": ("note 'hi' on order 7", ("note 'hi' on order 7",)),
    "a letter after the marks": ('note "a"b on order 7', ('note "a"b on order 7',)),
    "no second mark": ('note "leave it, then look up order 1', ('note "leave it, then look up order 1',)),
    "no second mark, two lines": (
        'note "leave it\nand look up order 1',
        ('note "leave it\nand look up order 1',),
    ),
    "no second curly mark": (
        "write to ana@shop.pt saying \u201chello",
        ("write to ana@shop.pt saying \u201chello",),
    ),
    "no second mark later": (
        'look up order 1, then note "a and look up order 2',
        ('note "a and look up order 2',),
    ),
    "marks of two kinds": (
        'note \u201ca" on order 7 and look up order 1',
        ('note \u201ca" on order 7 and look up order 1',),
    ),
    "marks inside marks": (
        'note \u201ca "b, then look up order 1, then note c" d\u201d on order 7',
        ('note \u201ca "b, then look up order 1, then note c" d\u201d on order 7',),
    ),
    # lists that are not said in one way
    "a list that does not say each": (
        "charge orders 4411 and 4412 40.00",
        ("charge orders 4411", "4412 40.00"),
    ),
    "a list of one": ("look up orders 4411", ("look up orders 4411",)),
    "a list without its word": ("look up orders 1, 2, 3", ("look up orders 1, 2, 3",)),
    "a list with its word twice": ("look up orders 1 and 2 and 3", ("3",)),
    "a list joined by then": ("look up orders 1, then 2", ("look up orders 1", "2")),
    "a list with an item twice": ("look up orders 1, 2 and 1", ("look up orders 1, 2", "1")),
    "a list with a bad item": ("look up orders 1, 0x2 and 3", ("look up orders 1, 0x2", "3")),
    "a list with nothing between commas": ("look up orders 1,, 2 and 3", ("look up orders 1,, 2", "3")),
    "a list where one is meant": ("look up order 1 and 2", ("2",)),
    "a list and another end": (
        "charge orders 1 and 2 40.00 each please do",
        ("charge orders 1", "2 40.00 each please do"),
    ),
    # what was named before, and was not
    "the same of nothing": ("update the crm for the same order", ("update the crm for the same order",)),
    "the same of what comes later": (
        "update the crm for the same order, then look up order 1",
        ("update the crm for the same order",),
    ),
    "the same of something else": (
        "refund charge LK-1 40.00, then update the crm for the same order",
        ("update the crm for the same order",),
    ),
    "the same of a list": (
        "look up orders 1 and 2, then update the crm for the same order",
        ("update the crm for the same order",),
    ),
    "the same of a list and more": (
        "look up orders 1 and 2, then update the crm for the same orders and 3",
        ("update the crm for the same orders", "3"),
    ),
    "the same of a list of three and more": (
        "look up orders 1, 2 and 3, then update the crm for the same orders and 4",
        ("update the crm for the same orders", "4"),
    ),
    "the same of what is quoted": (
        'write to ana@shop.pt saying "order 7", then update the crm for the same order',
        ("update the crm for the same order",),
    ),
    "it of nothing": ("send the receipt for it", ("send the receipt for it",)),
    "it where no phrase says what it is": ("charge order 4411 40.00 and refund it", ("refund it",)),
    "it in another phrase": (
        "look up order 4411, then provision the account for it",
        ("provision the account for it",),
    ),
    # calls that no turn can ask for
    "a call of a tool nobody asks for": ("restore_crm(order=7)", ("restore_crm(order=7)",)),
    "a call without an argument": ("charge_card(order=7)", ("charge_card(order=7)",)),
    "a call with another argument": (
        "get_order(order=7, force=1)",
        ("get_order(order=7, force=1)",),
    ),
    "a call with another type": ('get_order(order="7")', ('get_order(order="7")',)),
    "a call with an amount in other words": (
        "charge_card(order=7, amount=40)",
        ("charge_card(order=7, amount=40)",),
    ),
    "a call with an id that is none": (
        'refund_card(charge="40.00", amount=40.00)',
        ('refund_card(charge="40.00", amount=40.00)',),
    ),
    "a call in another form": ("get_order( order=7 )", ("get_order( order=7 )",)),
    "a call with an argument twice": ("get_order(order=7, order=7)", ("get_order(order=7, order=7)",)),
    "a call too large": ("get_order(order=9007199254740992)", ("get_order(order=9007199254740992)",)),
    # other languages, whole or in part
    "another language": (
        "cobra o pedido 4411 40,00, depois atualiza o crm",
        ("cobra o pedido 4411 40,00, depois atualiza o crm",),
    ),
    "another language with these marks": ("cobra o pedido 4411 40.00", ("cobra o pedido 4411 40.00",)),
    "half another language": (
        f"{CHARGE}, depois atualiza o crm do pedido 4411",
        (f"{CHARGE}, depois atualiza o crm do pedido 4411",),
    ),
    "another language's request": (f"{CHARGE}, then envia o recibo", ("envia o recibo",)),
    "another language's joint": (f"{CHARGE} e look up order 1", (f"{CHARGE} e look up order 1",)),
    "another language, colloquial": (
        "consulta a encomenda 4411 e depois envia-a",
        ("consulta a encomenda 4411 e depois envia-a",),
    ),
    # letters that only look like the right ones
    "the Kelvin sign": ("loo\u212a up order 7", ("loo\u212a up order 7",)),
    "the long s": ("\u017fend receipt for order 7", ("\u017fend receipt for order 7",)),
    "a Cyrillic o": ("l\u043eok up order 7", ("l\u043eok up order 7",)),
    "the Kelvin sign in an id": ("refund charge \u212a7 40.00", ("refund charge \u212a7 40.00",)),
    "a thin space": ("look up\u2009order 7", ("look up\u2009order 7",)),
    "right to left": ("\u05d4\u05d6\u05de\u05e0\u05d4 7", ("\u05d4\u05d6\u05de\u05e0\u05d4 7",)),
    "an accent too many": ("look \u00fap order 7", ("look \u00fap order 7",)),
}

AMBIGUOUS: dict[str, tuple[str, list[list[Asked]]]] = {
    "which of two": (
        "look up order 1, then look up order 2, then update the crm for the same order",
        [[look_up(1), look_up(2), crm(1)], [look_up(1), look_up(2), crm(2)]],
    ),
    "it of two": (
        "charge order 1 40 and charge order 2 40 and send the receipt for it",
        [
            [charge(1, "40.00"), charge(2, "40.00"), receipt(1)],
            [charge(1, "40.00"), charge(2, "40.00"), receipt(2)],
        ],
    ),
    "the same twice over": (
        "look up order 1. Look up order 2. Charge the same order 40. Send the receipt for it",
        [
            [look_up(1), look_up(2), charge(first, "40.00"), receipt(second)]
            for first in (1, 2)
            for second in (1, 2)
        ],
    ),
}

MONEY: dict[str, tuple[str, str, Decimal | None]] = {
    "a sign": ("USD", "$40", Decimal("40.00")),
    "a sign and places": ("USD", "$1,250.00", Decimal("1250.00")),
    "a word": ("USD", "40 dollars", Decimal("40.00")),
    "a word for one": ("USD", "1 dollar", Decimal("1.00")),
    "a word in capitals": ("USD", "40.50 DOLLARS", Decimal("40.50")),
    "a code": ("USD", "40.00 USD", Decimal("40.00")),
    "a code first": ("USD", "USD 40.00", Decimal("40.00")),
    "no name": ("USD", "40", Decimal("40.00")),
    "a sign of two letters": ("USD", "US$40", Decimal("40.00")),
    "a sign behind": ("EUR", "40.00€", Decimal("40.00")),
    "a sign apart": ("EUR", "€ 40", Decimal("40.00")),
    "euros": ("EUR", "40 euros", Decimal("40.00")),
    "pounds": ("GBP", "£40", Decimal("40.00")),
    "reais": ("BRL", "R$ 40.00", Decimal("40.00")),
    "the sign of another": ("EUR", "$40", None),
    "the word of another": ("EUR", "40 dollars", None),
    "the code of another": ("EUR", "40.00 USD", None),
    "two signs": ("USD", "$40 dollars", None),
    "a sign twice": ("USD", "$$40", None),
    "below nought": ("USD", "$-40", None),
    "below nought, sign behind": ("USD", "-$40", None),
    "cents alone": ("USD", "40 cents", None),
    "thousands in short": ("USD", "$40k", None),
    "between": ("USD", "$40-50", None),
    "the other marks": ("EUR", "1.250,00 €", None),
    "ambiguous in another country": ("EUR", "1.250 €", None),
    "a number in words": ("USD", "forty dollars", None),
}

JOINTS = (
    ", then ", " then ", " and then ", ", and then ", " and ", ", and ", ". ", ".\n", ". Then ", " THEN\n", " then, ",
)  # fmt: skip
PIECES = (
    "charge", "order", "orders", "each", "the", "same", "it", "please", "then", "and", ",", ".", "4411", "40.00",
    '"', "\u201c", "\u201d", " ", "note", "on", "refund", "LK-1", "\n", "\u00a0", "\u2019", "{", "}", "\\", "not", "[",
    "(", ")", "=", "get_order(order=7)", "update crm for order 7", "look up orders 1",
)  # fmt: skip
GARBAGE = ("dance", "do not charge order 1 1", "4411", "the", '"quoted"', "cobra o pedido 1", "!", "{x}")
CLAUSES = (
    ("charge order {order} {amount}", "charge"),
    ("charge the order {order} {grouped}", "charge"),
    ("refund charge {charged} {amount}", "refund"),
    ("update the crm for order {order}", "crm"),
    ("please provision account for order {order}", "account"),
    ("Send the receipt for order {order}", "receipt"),
    ("look up order {order}", "look_up"),
    ('note "{words}" on order {order}', "note"),
    ("note \u201c{words}\u201d on the order {order}", "note"),
)
