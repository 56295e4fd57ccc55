import pytest
@pytest.mark.django_db
def test_x():
    from django.db import connection
    with connection.cursor() as c:
        c.execute("select current_database()"); print(c.fetchone())
